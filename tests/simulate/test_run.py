from __future__ import annotations

import gzip
import json
import re
from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.simulate.options import Options, capacity_of_blocks
from radixadvisor.simulate.profiles import engine, engines
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.result import SimulationResult
from radixadvisor.simulate.routes import ROUTES
from radixadvisor.simulate.run import simulate
from tests.simulate.logs import conversations, pack, pressed, run_of

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FILES = sorted(GOLDEN.glob("*.txt"))
COLUMNS = ("matched_tokens", "host_tokens", "computed_tokens", "replica", "ttft", "e2e", "queue", "refused")


def log_of(trace: str) -> Requests:
    with gzip.open(GOLDEN / f"{trace}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    packed = [[array("i", row[name]).tobytes() for row in rows] for name in ("tokens", "output")]
    return Requests(packed[0], packed[1])


def same(a: SimulationResult, b: SimulationResult) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in COLUMNS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_one_client_is_served_what_the_real_engine_answered(file: Path) -> None:
    trace, name, rest = re.fullmatch(r"(trace-\d+)\.(sglang-[\d.]+|vllm)[-.](.+)\.txt", file.name).groups()  # type: ignore[union-attr]
    if name == "vllm":
        blocks = int(rest.rsplit("blocks", 1)[1])
        result = simulate(log_of(trace), engine("vllm"), Options(capacity=capacity_of_blocks(blocks, 16)))
    else:
        evict, page, capacity = re.fullmatch(r"(\w+)\.page(\d+)\.cap(\d+)", rest).groups()  # type: ignore[union-attr]
        profile = engine("sglang" if name == "sglang-0.5.23" else name)
        options = Options(capacity=int(capacity), page=int(page), evict=evict, concurrency=1)
        result = simulate(log_of(trace), profile, options)
    for index, line in enumerate(file.read_text().splitlines()):
        if line.startswith("OOM"):
            assert result.refused[index] or result.truncated[index]
        else:
            assert result.matched_tokens[index] == int(line)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(engines())), st.data())
def test_every_prompt_token_is_matched_or_computed_and_runs_repeat(
    seed: int, name: str, data: st.DataObject
) -> None:
    requests = conversations(seed, 40, apart=0.2)
    options = Options(
        capacity=data.draw(st.sampled_from([None, 200, 600, 5000])),
        page=data.draw(st.sampled_from([None, 1, 8])),
        concurrency=data.draw(st.sampled_from([None, 1, 4])),
        replicas=data.draw(st.sampled_from([1, 3])),
        route=data.draw(st.sampled_from(sorted(set(ROUTES) - {"logged"}))),
        seed=5,
    )
    result = simulate(requests, engine(name), options)
    served = ~result.refused
    assert (result.matched_tokens + result.computed_tokens == result.prompt_tokens)[served].all()
    assert (result.matched_tokens < result.prompt_tokens)[served].all()
    assert not result.matched_tokens[~served].any() and set(result.reasons) == set(np.flatnonzero(~served))
    assert (result.queue <= result.ttft)[served].all() and (result.ttft <= result.e2e)[served].all()
    assert np.isnan(result.ttft[~served]).all()
    assert result.totals.prefilled_tokens >= int(result.computed_tokens.sum())
    assert all(pool.peak_in_use <= pool.capacity for pool in result.occupancy)
    if name == "none":
        assert not result.matched_tokens.any()
    assert same(result, simulate(requests, engine(name), options))


def test_columns_are_in_input_order_whatever_the_arrivals() -> None:
    late = Requests([run_of(1, 50), run_of(1, 40)], arrivals=[1000.0, 5.0])
    result = simulate(late, engine("sglang"))
    assert result.matched_tokens.tolist() == [40, 0]
    assert result.prompt_tokens.tolist() == [50, 40]


def test_twins_that_wait_together_miss_and_hit_when_the_log_is_slower() -> None:
    """While the first request is prefilled both twins arrive: SGLang then computes them in one step."""
    twins = Requests([run_of(2, 1000), *[run_of(1, 1000)] * 2], arrivals=[0.0, 0.01, 0.02])
    assert simulate(twins, engine("sglang")).served_tokens == 0
    assert simulate(twins, engine("vllm")).served_tokens == 992
    assert simulate(twins, engine("sglang"), Options(speedup=0.01)).served_tokens == 999


def test_one_client_equals_a_pool_of_clients_of_one_in_hits() -> None:
    requests = replace(conversations(3, 60), arrivals=None)
    serial = simulate(requests, engine("vllm"), Options(capacity=640))
    spread = simulate(conversations(3, 60, apart=1e6), engine("vllm"), Options(capacity=640))
    assert serial.matched_tokens.tolist() == spread.matched_tokens.tolist()


def test_blocks_of_a_hash_trace_become_whole_pages_and_the_short_last_one_is_never_full() -> None:
    ids = [pack(1, 2, 3), pack(1, 2, 4, 5), pack(1, 2, 4, 5)]
    requests = Requests(ids, output_lengths=[3, 3, 3], lengths=[1300, 1600, 1600], unit=512)
    result = simulate(requests, engine("sglang"), Options(concurrency=1))
    assert result.matched_tokens.tolist() == [0, 1024, 1536]
    assert result.computed_tokens.tolist() == [1300, 576, 64]
    assert simulate(requests, engine("vllm"), Options(page=600)).matched_tokens.tolist() == [0, 1024, 1024]


def test_a_prompt_larger_than_the_pool_is_refused_with_its_reason() -> None:
    """Served one by one the cache evicts in vain before it gives up; a scheduler does not even ask it."""
    requests = Requests([run_of(1, 50), run_of(2, 500), b"", run_of(1, 60)], arrivals=[0.0, 1.0, 2.0, 3.0])
    for concurrency, kept in ((1, 0), (None, 50)):
        result = simulate(requests, engine("sglang"), Options(capacity=100, concurrency=concurrency))
        assert result.refused.tolist() == [False, True, True, False]
        assert "500 tokens" in result.reasons[1] and "100" in result.reasons[1]
        assert result.reasons[2] == "the prompt is empty"
        assert result.matched_tokens.tolist() == [0, 0, 0, kept]
        assert result.notes == ("2 requests were refused: they can never fit the pool",)


def test_unknown_outputs_take_room_but_never_match() -> None:
    first = run_of(1, 20)
    requests = Requests([first, first + pack(-1) * 30], [b"", b""], output_lengths=[30, 1])
    assert simulate(requests, engine("sglang")).matched_tokens[1] == 20 + 29, "the stand-in, given away"
    honest = Requests([first, first + run_of(2, 30)], output_lengths=[30, 1])
    assert simulate(honest, engine("sglang")).matched_tokens[1] == 20
    full = simulate(honest, engine("sglang"), Options(capacity=50))
    assert full.totals.evicted_tokens > 0


def test_outputs_can_stay_out_and_a_host_tier_brings_evicted_prefixes_back() -> None:
    first, output = run_of(1, 60), run_of(2, 20)
    turn = Requests([first, run_of(3, 70), first + output + run_of(4, 5)], [output, b"", b""])
    wide = Options(concurrency=1)
    assert simulate(turn, engine("sglang"), wide).matched_tokens[2] == 79
    assert simulate(turn, engine("sglang"), replace(wide, prompt_only=True)).matched_tokens[2] == 60
    narrow = Options(capacity=100, concurrency=1)
    assert simulate(turn, engine("sglang"), narrow).matched_tokens[2] == 0
    tiered = simulate(turn, engine("sglang"), replace(narrow, host_ratio=4.0))
    assert tiered.matched_tokens[2] == tiered.host_tokens[2] == 79


def test_pinned_branches_survive_what_evicts_them_otherwise() -> None:
    """A system prompt used now and then between one-shots that fill the pool."""
    prompts = []
    for index in range(8):
        prompts += [
            run_of(1, 50) + run_of(10 + index, 5),
            *(run_of(100 + 5 * index + n, 90) for n in range(3)),
        ]
    requests = Requests(prompts)
    plain = simulate(requests, engine("sglang"), Options(capacity=200))
    pinned = simulate(requests, engine("sglang"), Options(capacity=200, pin=60))
    assert plain.served_tokens == 0
    assert pinned.served_tokens == 8 * 50
    assert pinned.totals.pinned_tokens == 50
    assert "50 tokens of 1 branches are pinned" in pinned.notes[0]
    part = simulate(requests, engine("sglang"), Options(capacity=200, pin=30, page=16))
    assert part.totals.pinned_tokens == 16 and part.served_tokens == 8 * 16


def test_a_sampled_log_says_that_its_hits_are_lower_bounds() -> None:
    notes = simulate(conversations(1, 5), engine("sglang"), Options(sampled=0.05)).notes
    assert notes == (
        "the log is a 0.05 sample: hits across requests, lifetimes and what is in flight are lower bounds",
    )


def test_time_is_spent_where_the_cost_says() -> None:
    """100 new tokens and 10 outputs, alone: one prefill pass and nine decode passes."""
    result = simulate(Requests([run_of(1, 100)], [run_of(2, 10)], arrivals=[7.0]), engine("sglang"))
    cost = Options().cost
    prefill = cost.step + 100 * cost.prefill  # type: ignore[attr-defined]
    decode = 9 * (cost.step + cost.decode)  # type: ignore[attr-defined]
    assert result.ttft[0] == pytest.approx(prefill)
    assert result.e2e[0] == pytest.approx(prefill + decode)
    assert (result.totals.prefill_seconds, result.totals.decode_seconds) == pytest.approx((prefill, decode))
    assert (result.totals.decode_steps, result.totals.decoded_tokens) == (9, 9)
    serial = simulate(Requests([run_of(1, 100)], [run_of(2, 10)]), engine("sglang"))
    assert serial.e2e[0] == pytest.approx(result.e2e[0])


def test_policies_only_change_the_order() -> None:
    requests = pressed()
    results = {
        policy: simulate(requests, engine("sglang"), Options(capacity=3000, policy=policy))
        for policy in ("fcfs", "lpm", "dfs-weight")
    }
    assert results["lpm"].served_tokens > 1.2 * results["fcfs"].served_tokens
    assert results["dfs-weight"].served_tokens > 1.2 * results["fcfs"].served_tokens
    assert results["lpm"].totals.makespan < results["fcfs"].totals.makespan
