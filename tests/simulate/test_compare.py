from __future__ import annotations

import pytest

from radixadvisor.errors import UsageError
from radixadvisor.simulate.compare import compare, eviction_chain
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.run import simulate
from tests.simulate.logs import conversations, pressed


def test_the_parts_of_a_request_add_up_and_tokens_and_seconds_agree() -> None:
    requests = pressed()
    fcfs = simulate(requests, engine("sglang"), Options(capacity=3000))
    lpm = simulate(requests, engine("sglang"), Options(capacity=3000, policy="lpm"))
    found = compare(fcfs, lpm)
    assert (found.a, found.b) == ("sglang fcfs", "sglang lpm")
    for side in ("a", "b"):
        parts = [
            getattr(found.row(f"{name}, mean per request"), side) for name in ("queue", "prefill", "decode")
        ]
        assert sum(parts) == pytest.approx(getattr(found.row("end to end, mean per request"), side))
    saved = -found.row("computed tokens").difference
    assert saved == found.row("served tokens").difference > 0
    steps = fcfs.totals.prefill_steps - lpm.totals.prefill_steps
    cost = Options().cost
    seconds = saved * cost.prefill + steps * cost.step  # type: ignore[attr-defined]
    assert -found.row("prefill steps").difference == pytest.approx(seconds)
    assert f"sglang lpm computes {saved:,.0f} fewer prompt tokens than sglang fcfs" in found.reasons[0]
    assert "a request takes" in found.reasons[-1] and "queue -" in found.reasons[-1]


def test_a_run_differs_from_itself_in_nothing() -> None:
    run = simulate(conversations(1, 20), engine("sglang"))
    found = compare(run, run)
    assert not any(row.difference for row in found.rows)
    assert len(found.reasons) == 1 and "the same time" in found.reasons[0]


def test_only_runs_of_one_log_can_be_compared() -> None:
    runs = [simulate(conversations(seed, 20), engine("sglang")) for seed in (1, 2)]
    with pytest.raises(UsageError, match="the same log"):
        compare(*runs)


def test_leaf_lru_and_block_lru_are_told_apart_one_difference_at_a_time() -> None:
    requests = pressed()
    chain = eviction_chain(requests, engine("sglang"), engine("vllm"), 3000)
    assert [what for what, _ in chain] == [
        "tree, pages of 1, whole leaves evicted",
        "tree, pages of 16, whole leaves evicted",
        "tree, pages of 16, evicted page by page",
        "blocks of 16, evicted one by one",
    ]
    served = [tokens for _, tokens in chain]
    options = Options(capacity=3000, concurrency=1)
    assert served[0] == simulate(requests, engine("sglang"), options).served_tokens
    assert served[-1] == simulate(requests, engine("vllm"), options).served_tokens
    assert len(set(served)) > 1
    with pytest.raises(UsageError, match="A tree is compared with blocks"):
        eviction_chain(requests, engine("vllm"), engine("sglang"), 3000)
