"""RA507: one prefix on several replicas; of a hosted API, one prefix under several cache keys."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.diagnose.rules import rule
from radixadvisor.measure.hits import matches
from radixadvisor.records import EditSpec

__all__ = ["replica_spread"]


def replica_spread(facts: Facts) -> Iterator[Suspect]:
    """Requests that find their prefix on another replica, where keeping to one replica would help.

    That each replica computes a prefix once is the price of having replicas: it counts only where a prefix
    is used a few times on each. What a session left on another replica always counts.
    """
    if facts.hosted is not None:
        yield from _keys(facts)
        return
    lost = facts.lost("replicas")
    if facts.replicas is None or not facts.worth("RA507", int(lost.sum())):
        return
    if not facts.worth("RA507", max(_within_sessions(facts), _seldom_used(facts))):
        return
    positions = lost.nonzero()[0]
    first = int(positions[0])
    count = len(set(facts.replicas))
    owner = int(facts.partners[first])
    now = sum((facts.lost(bucket) for bucket in ("served", "capacity", "ttl")), start=0 * lost)
    yield Suspect(
        rule="RA507",
        profile=facts.world.name,
        title=f"Prefixes are spread over {count} replicas with caches of their own",
        place=facts.place(first, "replica"),
        before=f"on {_name(facts, first)}",
        after=f"its prefix is on {_name(facts, owner)}, left by {facts.request_id(owner)}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=EditSpec("one_cache", "safe", ()),
        rates=(int(now.sum()) / facts.total, int(now.sum() + lost.sum()) / facts.total),
    )


def _name(facts: Facts, position: int) -> str:
    assert facts.replicas is not None
    named = facts.trace.requests[facts.trace.order[position]].replica
    return named if named is not None else f"replica {facts.replicas[position] + 1}"


def _within_sessions(facts: Facts) -> int:
    """Tokens that requests would find if each session stayed where it began."""
    assert facts.replicas is not None
    homes: dict[int, int] = {}
    home = [
        homes.setdefault(facts.trace.sessions[index], replica)
        for index, replica in zip(facts.trace.order, facts.replicas, strict=True)
    ]
    at_home = matches(facts.walks, _pairs(facts.namespaces, home))
    as_served = matches(facts.walks, _pairs(facts.namespaces, facts.replicas))
    return int(at_home.sum() - as_served.sum()) * facts.trace.unit


def _pairs(first: list[int], second: list[int]) -> list[int]:
    numbers: dict[tuple[int, int], int] = {}
    return [numbers.setdefault(pair, len(numbers)) for pair in zip(first, second, strict=True)]


def _seldom_used(facts: Facts) -> int:
    """Tokens computed on one replica after another of prefixes that each replica uses only a few times, in
    requests that no session ties together.
    """
    import numpy as np

    assert facts.replicas is not None
    sessions = np.array([facts.trace.sessions[index] for index in facts.trace.order], np.int64)
    lone = np.bincount(sessions, minlength=len(sessions))[sessions] == 1
    walks = facts.walks
    pair = np.array(_pairs(facts.namespaces, facts.replicas), np.int64)
    space = np.array(facts.namespaces, np.int64)
    owners = walks.owners[walks.in_prompt]
    edges = walks.edges[walks.in_prompt]
    used = edges * (int(space.max(initial=0)) + 1) + space[owners]
    _, whole = np.unique(used, return_inverse=True)
    _, first = np.unique(edges * (int(pair.max(initial=0)) + 1) + pair[owners], return_index=True)
    uses = np.bincount(whole)
    parts = np.bincount(whole[first], minlength=len(uses))
    seldom = uses < rule("RA507").threshold("amortised_uses") * parts
    begins = np.zeros(len(edges), np.bool_)
    begins[first] = True
    earliest = np.unique(whole, return_index=True)[1]
    again = begins & (np.arange(len(edges)) != earliest[whole])
    counted = again & seldom[whole] & lone[owners]
    return int(walks.sizes[edges[counted]].sum()) * facts.trace.unit


def _keys(facts: Facts) -> Iterator[Suspect]:
    """Requests of one beginning that the client's prompt_cache_key sends to different machines."""
    keys = [request.parameters.get("prompt_cache_key", "") for request in facts.trace.requests]
    lost = facts.lost("replicas")
    if not any(keys) or not facts.worth("RA507", int(lost.sum())):
        return
    now = facts.world.serve(facts.trace)
    best: tuple[int, EditSpec] | None = None
    for value in ("none", "session"):
        change = EditSpec("cache_key", "safe", (), (("by", value),))
        gain = int((facts.world.serve(facts.trace, (change,)).served - now.served).sum())
        if best is None or gain > best[0]:
            best = gain, change
    if best is None or not facts.worth("RA507", best[0]):
        return
    positions = lost.nonzero()[0]
    first = int(positions[0])
    yield Suspect(
        rule="RA507",
        profile=facts.world.name,
        title=f"{len(set(keys))} values of prompt_cache_key send one beginning to different machines",
        place=facts.place(first, "prompt_cache_key"),
        before="a key of its own",
        after=f"the prefix that {facts.request_id(max(int(facts.partners[first]), 0))} left",
        requests=facts.indices(positions),
        lost_tokens=best[0],
        change=best[1],
    )
