from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.simulate.hosted_profiles import provider, providers
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from radixadvisor.simulate.steps import STEPS, hosted_ledger_steps, ledger_steps, longest_matches
from tests.simulate.logs import conversations, pack, run_of

CACHED = ["sglang", "sglang-0.5.8", "trtllm", "vllm"]


def evaluated(steps: dict[str, np.ndarray | None]) -> dict[str, int]:
    return {name: int(column.sum()) for name, column in steps.items() if column is not None}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(CACHED), st.sampled_from([1, 4, 16]))
def test_the_closed_form_equals_an_unlimited_simulation(seed: int, name: str, page: int) -> None:
    requests = replace(conversations(seed, 40), arrivals=None)
    options = Options(page=page)
    steps = ledger_steps(requests, engine(name), options)
    simulated = simulate(requests, engine(name), options).matched_tokens
    assert steps["served"].tolist() == simulated.tolist()  # type: ignore[union-attr]
    assert steps["capacity"].tolist() == simulated.tolist()  # type: ignore[union-attr]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_longest_matches_equal_brute_force(seed: int) -> None:
    requests = conversations(seed, 25)
    assert requests.outputs is not None
    for outputs in (False, True):
        for namespaces in (False, True):
            found = longest_matches(requests, outputs=outputs, namespaces=namespaces)
            for index, prompt in enumerate(requests.prompts):
                best = 0
                for earlier in range(index):
                    if namespaces and requests.namespace(earlier) != requests.namespace(index):
                        continue
                    known = requests.prompts[earlier] + (requests.outputs[earlier][:-4] if outputs else b"")
                    a = np.frombuffer(prompt, np.int32)
                    b = np.frombuffer(known, np.int32)
                    size = min(len(a), len(b))
                    differs = np.flatnonzero(a[:size] != b[:size])
                    best = max(best, int(differs[0]) if len(differs) else size)
                assert found[index] == best


def test_each_restriction_shows_in_the_step_that_lifts_it() -> None:
    """Two tenants, twins in flight, a small pool and two replicas: every step gains."""
    system = run_of(1, 203)
    prompts, arrivals, names = [], [], []
    for index in range(40):
        prompts.append(system + run_of(100 + index // 2 % 8, 97) + run_of(300 + index, 1))
        arrivals.append(index // 4 * 5.0)
        names.append("b" if index >= 30 else "")
    requests = Requests(prompts, arrivals=arrivals, namespaces=names)
    options = Options(capacity=800, page=16, replicas=2, route="random", seed=3)
    steps = ledger_steps(requests, engine("sglang"), options)
    assert tuple(steps) == STEPS and steps["ttl"] is None
    totals = evaluated(steps)
    assert totals["capacity"] > totals["served"]
    assert totals["replicas"] > totals["capacity"]
    assert totals["in_flight"] > totals["replicas"]
    assert totals["rounding"] > totals["in_flight"]
    assert totals["isolation"] > totals["rounding"]


def test_what_cannot_be_evaluated_is_none() -> None:
    timeless = replace(conversations(1, 20), arrivals=None)
    steps = ledger_steps(timeless, engine("sglang"), Options(capacity=300))
    assert steps["in_flight"] is None and steps["ttl"] is None
    assert steps["capacity"].sum() > steps["served"].sum()  # type: ignore[union-attr]
    bare = ledger_steps(timeless, engine("none"))
    assert [name for name, column in bare.items() if column is not None] == ["served"]
    assert not bare["served"].any()  # type: ignore[union-attr]


def test_a_hash_trace_counts_tokens_and_never_more_than_the_prompt() -> None:
    ids = [pack(1, 2, 3), pack(1, 2, 4, 5), pack(1, 2, 4, 5)]
    requests = Requests(ids, output_lengths=[3, 3, 3], lengths=[1300, 1600, 1600], unit=512)
    steps = ledger_steps(requests, engine("sglang"))
    assert steps["capacity"].tolist() == [0, 1024, 1536]  # type: ignore[union-attr]
    assert steps["rounding"].tolist() == [0, 1024, 1600]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", sorted(providers()))
def test_hosted_steps_lift_lifetime_routing_flight_minimum_and_isolation(name: str) -> None:
    requests = conversations(7, 120, apart=120.0, system=2000)
    requests = replace(requests, latencies=[40.0] * 120, keys=[str(index % 2) for index in range(120)])
    steps = hosted_ledger_steps(requests, provider(name))
    assert steps["capacity"] is None
    totals = evaluated(steps)
    assert list(totals.values()) == sorted(totals.values())
    assert ("replicas" in totals) == (name == "openai")
    assert totals["isolation"] > totals["rounding"]
