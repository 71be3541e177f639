"""RA508 and RA509: evictions from a full pool, and a queue longer than the policy sorts by prefix."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.measure.capacity import lru_curves
from radixadvisor.records import EditSpec
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

__all__ = ["eviction", "long_queue", "waiting"]

_NEARLY = 0.95
_HOST_RATIO = 2.0


def eviction(facts: Facts) -> Iterator[Suspect]:
    """What a pool of the given size evicts before its reuse, and the least that would hold it."""
    capacity = facts.setting.capacity
    lost = facts.lost("capacity")
    if capacity is None or facts.hosted is not None or not facts.worth("RA508", int(lost.sum())):
        return
    now = int(facts.world.serve(facts.trace).served.sum())
    enough = _enough(facts, capacity)
    pool = EditSpec("pool", "review", (), (("tokens", str(enough)),))
    tier = EditSpec("host_tier", "review", (), (("ratio", f"{_HOST_RATIO:g}"),))
    gains = [
        (int(facts.world.serve(facts.trace, (change,)).served.sum()) - now, change) for change in (tier, pool)
    ]
    best = max(gain for gain, _ in gains)
    change = next(change for gain, change in gains if gain >= _NEARLY * best)
    positions = lost.nonzero()[0]
    first = int(positions[0])
    yield Suspect(
        rule="RA508",
        profile=facts.world.name,
        title=f"A pool of {capacity:,} tokens evicts what is used again; {enough:,} tokens hold "
        f"{_NEARLY:.0%} of what can be served",
        place=facts.place(first, "messages"),
        before=f"{int(lost[first]):,} tokens evicted before this request",
        after=f"left by {facts.request_id(max(int(facts.partners[first]), 0))}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=change if best > 0 else None,
    )


def _enough(facts: Facts, capacity: int) -> int:
    """The least power of two times the given pool that serves nearly all that an unlimited one does."""
    curve = lru_curves(facts.walks.prompt_paths(facts.trace.unit, facts.lengths)).total
    goal = _NEARLY * curve.hits(curve.saturation)
    size = 2 * capacity
    while curve.hits(size) < goal:
        size *= 2
    return size


def long_queue(facts: Facts) -> Iterator[Suspect]:
    """More requests wait than LPM sorts; tried: fewer at once, and submitting them in the order of their
    prefixes.
    """
    limit = engine(facts.world.name).scheduler.lpm_limit if facts.hosted is None else None
    queue = waiting(facts.trace, facts.setting)
    if limit is None or queue <= limit:
        return
    ways = EditSpec("admission", "safe", (), (("limit", str(limit)),)), EditSpec("sort_batch", "safe", ())
    now = facts.world.serve(facts.trace)
    gains, change = max(
        ((facts.world.serve(facts.trace, (way,)).served - now.served, way) for way in ways),
        key=lambda found: int(found[0].sum()),
    )
    positions = (gains > 0).nonzero()[0]
    first = int(positions[0]) if len(positions) else 0
    yield Suspect(
        rule="RA509",
        profile=facts.world.name,
        title=f"Up to {queue:,} requests wait at once; beyond {limit} the scheduler no longer sorts them by "
        "prefix",
        place=facts.place(first, "timestamp"),
        before=f"{queue:,} waiting, served in the order of arrival",
        after="submitted in the order of their prefixes"
        if change.kind == "sort_batch"
        else f"sorted by prefix where at most {limit} wait",
        requests=facts.indices(positions),
        lost_tokens=int(gains.sum()),
        change=change,
    )


def waiting(trace: Trace, setting: Setting) -> int:
    """The most requests that wait at once: as many as the given clients, or by the log's own times to the
    first token, which it must tell for all requests.
    """
    import numpy as np

    if setting.concurrency is not None:
        return min(setting.concurrency, len(trace.requests))
    waits = [request.ttft for request in trace.requests]
    if not trace.timed or None in waits:
        return 0
    arrivals = np.array([request.arrival for request in trace.requests], np.float64)
    moments = np.concatenate((arrivals, arrivals + np.array(waits, np.float64)))
    steps = np.concatenate((np.ones(len(arrivals), np.int64), -np.ones(len(arrivals), np.int64)))
    # At equal times those that got their first token leave before others come.
    order = np.lexsort((steps, moments))
    return int(np.cumsum(steps[order]).max(initial=0))
