"""Which engine settings this workload wants: small what-ifs, each setting beside what it would serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from radixadvisor.analysis.columns import requests_of
from radixadvisor.analysis.forecast import rewritten_requests
from radixadvisor.analysis.pools import replicas_of
from radixadvisor.predict.clock import first_requests
from radixadvisor.results_advice import Settings, SettingTrial
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    from radixadvisor.analysis.advice import Advice
    from radixadvisor.analysis.measure import Measured
    from radixadvisor.predict.results import Prediction
    from radixadvisor.results import CapacityRow
    from radixadvisor.simulate.setting import Setting

__all__ = ["settings_of"]

_ENGINE = "sglang"
_MOST_REQUESTS = 500
_MOST_TOKENS = 1_000_000
_CLIENTS = 32
_ROUNDS = 16
"""Requests that each client sends at least: in a short log the first ones, which all miss, would decide."""

_PAGES = (1, 16, 64)
_POLICIES = ("fcfs", "lpm", "dfs-weight")
_HOST_RATIO = 2.0
_FLEET = 2
_LEAST = 0.005
"""What a setting has to serve beyond the default, as a share of the prompt tokens, to be worth naming."""


def settings_of(
    trace: Trace,
    found: Measured,
    advice: Advice,
    rows: Sequence[CapacityRow],
    prediction: Prediction | None,
    setting: Setting,
) -> Settings | None:
    """Settings for SGLang, simulated on the log with its text fixes; None for a log of a hosted API and for
    one without prompts.

    The pool is the card's, or the one told; where neither is known it is half of what the log keeps in a pool
    that never fills, so that policies and tiers have something to decide.

    Args:
        trace: the log.
        found: its measurements.
        advice: its text fixes, which are in what is simulated.
        rows: hit rates by cache size, ascending.
        prediction: knows the card's pool, and whether loading KV is faster than computing it.
        setting: pool, clients and replicas as far as the user told them.
    """
    from radixadvisor.analysis.hosted import hosted_profile

    if hosted_profile(trace) is not None or not found.lengths.sum():
        return None
    requests, fixed = _requests(trace, advice)
    pool = setting.capacity if prediction is None else prediction.pool or setting.capacity
    known = pool is not None
    trial = _Trial(requests, trace.unit, pool or _half(requests))
    clients = setting.concurrency or max(2, min(_CLIENTS, len(requests) // _ROUNDS))
    policies = {name: trial.rate(policy=name, concurrency=clients) for name in _POLICIES}
    policy = max(policies, key=lambda name: policies[name] - _LEAST * _POLICIES.index(name))
    hosts = {
        0.0: policies[policy],
        _HOST_RATIO: trial.rate(policy=policy, concurrency=clients, host_ratio=_HOST_RATIO),
    }
    pays = None if prediction is None else prediction.loading_pays
    host = _HOST_RATIO if pays is not False and hosts[_HOST_RATIO] - hosts[0.0] > _LEAST else 0.0
    pages = {page: trial.rate(page=page, concurrency=1, capacity=None) for page in _PAGES}
    page = max(page for page in _PAGES if pages[1] - pages[page] <= _LEAST) if host else _PAGES[0]
    fleet = replicas_of(trace, setting)
    count = _FLEET if fleet is None else max(fleet) + 1
    routes = {
        name: trial.rate(policy=policy, concurrency=clients * count, replicas=count, route=name)
        for name in ("round-robin", "cache-aware")
    }
    route = "cache-aware" if routes["cache-aware"] - routes["round-robin"] > _LEAST else "round-robin"
    return Settings(
        requests=len(requests),
        fixed=fixed,
        pool=trial.pool,
        pool_known=known,
        clients=clients,
        policy=_chosen(policy, policies),
        page=_chosen(str(page), {str(size): rate for size, rate in pages.items()}),
        host_ratio=_chosen(f"{host:g}", {f"{ratio:g}": rate for ratio, rate in hosts.items()}),
        loading_pays=pays,
        replicas=count,
        replicas_known=fleet is not None,
        route=_chosen(route, routes),
        enough=_enough(rows),
    )


def _chosen(name: str, rates: dict[str, float]) -> SettingTrial:
    return SettingTrial(name, tuple(rates.items()))


def _requests(trace: Trace, advice: Advice) -> tuple[Requests, bool]:
    """The first requests of the log, with the text fixes if there are any."""
    requests = requests_of(trace)
    fixed = advice.trial is not None and bool(advice.trial.applied)
    if fixed:
        assert advice.trial is not None
        requests = rewritten_requests(trace, requests, advice.trial.after)
    count = tokens = 0
    for index in requests.order()[:_MOST_REQUESTS]:
        tokens += requests.length(index)
        if count and tokens > _MOST_TOKENS:
            break
        count += 1
    return replace(first_requests(requests, count), arrivals=None), fixed


def _half(requests: Requests) -> int:
    """Half of the tokens that the requests leave in a pool that never fills, and room for any of them."""
    result = simulate(requests, engine(_ENGINE), Options(concurrency=1))
    kept = sum(item.cached_at_end for item in result.occupancy)
    longest = max(requests.length(index) + requests.output_length(index) for index in range(len(requests)))
    return max(kept // 2, 2 * longest)


class _Trial:
    """One log and one pool, served with several settings."""

    def __init__(self, requests: Requests, unit: int, pool: int) -> None:
        self._requests = requests
        self._unit = unit
        self.pool = pool

    def rate(self, **changes: Any) -> float:
        """Served tokens as a share of all prompt tokens."""
        options = Options(**{"capacity": self.pool, **changes})
        return simulate(self._requests, engine(_ENGINE), options).rate


def _enough(rows: Sequence[CapacityRow]) -> int | None:
    """The smallest pool in the table that serves all but half a point of what the largest does."""
    most = max((row.lru_rate for row in rows), default=0.0)
    return next((row.tokens for row in rows if most - row.lru_rate <= _LEAST), None)
