"""Claims: what was predicted and what was measured, on which side of the threshold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from radixadvisor.replaying.claims import claims_of
from radixadvisor.replaying.results import PoolUse, RunResult, Times


def run(order: str, policy: str, *, seconds: float, flops: float, hits: int = 0) -> RunResult:
    cache = policy != "off"
    return RunResult(
        order=order,
        policy=policy,
        cache=cache,
        requests=9,
        refused={},
        truncated=0,
        prompt_tokens=1000,
        hit_tokens=hits,
        host_tokens=0,
        computed_tokens=1000 - hits,
        recomputed_tokens=0,
        output_tokens=9,
        flops=flops,
        predicted_flops=flops,
        times=(Times(seconds + 1, seconds, 1.0),) * 3,
        ttft={"all": None, "hit": None, "miss": None},
        latency=None,
        pool=PoolUse(2000, 1000, 500, 500, 0, 0, 0),
        predicted_tokens=hits,
        recorded_tokens=hits,
        deviating=0,
        unrecorded="",
        agreement=None,
        complete=True,
    )


OFF = run("given", "off", seconds=10, flops=100)


@pytest.mark.parametrize(
    ("seconds", "flops", "outcome", "text"),
    [
        (2, 20, "confirmed", "the cache pays in the given order"),
        (10, 20, "refuted", "the cache pays in the given order"),
        (10, 100, "confirmed", "the cache does not pay here"),
        (2, 100, "refuted", "the cache does not pay here"),
        (9.1, 20, "undecided", "the cache pays in the given order"),
        (8.5, 20, "confirmed", "the cache pays in the given order"),
    ],
)
def test_a_claim_is_judged_on_both_sides(seconds: float, flops: float, outcome: str, text: str) -> None:
    (claim,) = claims_of([OFF, run("given", "lpm", seconds=seconds, flops=flops, hits=500)])
    assert (claim.outcome, claim.text) == (outcome, text)
    assert claim.runs == ("given off", "given lpm")
    assert (claim.outcome == "undecided") == bool(claim.reason)


def test_runs_made_once_need_a_wider_distance() -> None:
    once = [replace(one, times=one.times[:1]) for one in (OFF, run("given", "lpm", seconds=8.5, flops=20))]
    (claim,) = claims_of(once)
    assert (claim.outcome, claim.reason) == (
        "undecided",
        "within 25% of the threshold; --repeat 3 tells more",
    )


def test_short_and_stopped_runs_decide_nothing() -> None:
    short = run("given", "off", seconds=0.1, flops=100), run("given", "lpm", seconds=0.2, flops=20)
    assert [claim.outcome for claim in claims_of(short)] == ["undecided"]
    assert claims_of([OFF, replace(run("given", "lpm", seconds=1, flops=20), complete=False)]) == ()


def test_a_matrix_makes_every_claim() -> None:
    runs = [
        OFF,
        run("given", "fcfs", seconds=9.9, flops=99, hits=10),
        run("given", "lpm", seconds=9.8, flops=99, hits=12),
        run("rewritten", "fcfs", seconds=3, flops=30, hits=700),
        run("rewritten", "lpm", seconds=2, flops=20, hits=800),
        run("shuffled", "lpm", seconds=10, flops=100, hits=5),
    ]
    claims = {claim.name: claim for claim in claims_of(runs)}
    assert list(claims) == ["cache", "prescriptions", "order", "policy"]
    assert {claim.outcome for claim in claims.values()} == {"confirmed"}
    assert claims["prescriptions"].runs == ("given lpm", "rewritten lpm")
    assert claims["order"].runs == ("shuffled lpm", "rewritten lpm")
    assert claims["policy"].runs == ("rewritten lpm", "rewritten fcfs")
    assert claims["policy"].text == "lpm hits more than fcfs"
