from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.routes import CacheAware, RouterRules, router, router_rules
from radixadvisor.simulate.run import simulate
from tests.simulate.logs import conversations, run_of

RULES = RouterRules(0.3, 64, 1.5, 60.0, 1 << 26, 256)


def aware(prompts: list[bytes], workers: int = 2, **changes: float) -> CacheAware:
    return CacheAware(Requests(prompts), workers, replace(RULES, **changes))  # type: ignore[arg-type]


def test_the_shipped_rules_are_the_routers_defaults() -> None:
    assert router_rules() == RULES


def test_a_match_of_more_than_the_threshold_wins_else_the_least_loaded() -> None:
    prompts = [run_of(1, 100), run_of(1, 31) + run_of(2, 69), run_of(1, 30) + run_of(3, 70)]
    route = aware(prompts)
    assert route.pick(0, lambda: [5, 3], 0.0) == 1
    assert route.pick(1, lambda: [0, 3], 0.0) == 1, "31 % of the text is known to worker 1"
    assert route.pick(2, lambda: [0, 3], 0.0) == 0, "30 % is not above the threshold"


@pytest.mark.parametrize(
    ("loads", "worker"), [([64, 0], 0), ([65, 0], 1), ([264, 200], 0), ([300, 200], 0), ([301, 200], 1)]
)
def test_imbalance_needs_both_the_absolute_and_the_relative_difference(loads: list[int], worker: int) -> None:
    """Worker 0 knows the text, worker 1 is less loaded."""
    route = aware([run_of(1, 10)] * 2)
    route.pick(0, lambda: [0, 0], 0.0)
    assert route.pick(1, lambda: loads, 0.0) == worker


def test_a_request_sent_for_balance_is_remembered_where_it_went() -> None:
    route = aware([run_of(1, 10)] * 3)
    assert route.pick(0, lambda: [0, 0], 0.0) == 0
    assert route.pick(1, lambda: [200, 0], 0.0) == 1
    assert route.pick(2, lambda: [1, 0], 0.0) in (0, 1)
    assert [tree.tokens for tree in route._trees] == [10, 10]


def test_the_tree_is_cut_to_its_limit_every_minute_oldest_leaves_first() -> None:
    prompts = [run_of(1, 50), run_of(1, 20) + run_of(2, 40), run_of(3, 30), run_of(3, 30)]
    route = aware(prompts, workers=1, tree_limit=95)
    for index in range(3):
        route.pick(index, lambda: [0], float(index))
    tree = route._trees[0]
    assert tree.tokens == 120
    route.pick(3, lambda: [0], 61.0)
    assert tree.tokens == 90, "the unshared end of the first prompt went"
    tree.audit()


def test_raw_text_counts_where_the_log_has_it() -> None:
    prompts = [run_of(index, 10) for index in range(2)]
    texts = ["the same text, tokenized otherwise \U0001f642"] * 2
    seen = CacheAware(Requests(prompts, texts=texts), 2, RULES)
    assert [seen.pick(index, lambda: [0, 0], 0.0) for index in range(2)] == [0, 0]
    assert seen.note == ""
    assert (
        router("cache-aware", Requests(prompts), 2).note == "cache-aware routing matches tokens, not raw text"
    )


def test_simple_routes() -> None:
    requests = conversations(2, 40)
    turn = router("round-robin", requests, 3)
    assert [turn.pick(index, lambda: [0] * 3, 0.0) for index in range(5)] == [0, 1, 2, 0, 1]
    sticky = router("sticky", requests, 3)
    by_session: dict[int, set[int]] = {}
    assert requests.sessions is not None
    for index, session in enumerate(requests.sessions):
        by_session.setdefault(session, set()).add(sticky.pick(index, lambda: [0] * 3, 0.0))
    assert all(len(workers) == 1 for workers in by_session.values())
    assert len(set.union(*by_session.values())) > 1
    hashed = router(
        "prefix-hash", Requests([run_of(1, 300), run_of(1, 256) + run_of(2, 9), run_of(3, 9)]), 64
    )
    first, second, third = (hashed.pick(index, lambda: [0] * 64, 0.0) for index in range(3))
    assert first == second != third
    picks = [
        [router("random", requests, 4, seed).pick(i, lambda: [0], 0.0) for i in range(20)]
        for seed in (1, 1, 2)
    ]
    assert picks[0] == picks[1] != picks[2]
    logged = replace(requests, replicas=[index % 2 for index in range(40)])
    assert router("logged", logged, 2).pick(3, lambda: [0] * 2, 0.0) == 1


def test_affinity_keeps_what_round_robin_loses() -> None:
    """Sessions whose turns go round three replicas find their history on one of them at best."""
    requests = conversations(4, 150, users=9)
    served = {
        route: simulate(requests, engine("sglang"), Options(replicas=3, route=route)).served_tokens
        for route in ("round-robin", "sticky", "cache-aware")
    }
    alone = simulate(requests, engine("sglang")).served_tokens
    assert served["round-robin"] < 0.9 * served["sticky"]
    assert served["round-robin"] < 0.9 * served["cache-aware"]
    assert max(served.values()) <= alone


def test_every_replica_has_a_pool_and_a_clock_of_its_own() -> None:
    """Four requests at once on two replicas take as long as two on one."""
    requests = Requests([run_of(index, 1000) for index in range(4)], arrivals=[0.0] * 4)
    fleet = simulate(requests, engine("none"), Options(replicas=2, capacity=1000))
    pair = simulate(
        Requests([run_of(index, 1000) for index in range(2)], arrivals=[0.0] * 2),
        engine("none"),
        Options(capacity=1000),
    )
    assert fleet.totals.makespan == pytest.approx(pair.totals.makespan)
    assert sorted(fleet.replica.tolist()) == [0, 0, 1, 1]
    assert [pool.peak_in_use for pool in fleet.occupancy] == [1000, 1000]


def test_clients_of_a_fleet_are_never_more_than_given() -> None:
    requests = replace(conversations(6, 60), arrivals=None)
    result = simulate(requests, engine("sglang"), Options(replicas=2, concurrency=3, capacity=2000))
    assert not result.refused.any()
    assert np.isfinite(result.e2e).all()
    assert result.totals.makespan >= float(result.e2e.sum()) / 3 - 1e-9
