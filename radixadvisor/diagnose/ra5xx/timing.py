"""RA506: requests that start before the first of them has filled the cache."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.diagnose.rules import rule
from radixadvisor.records import EditSpec

__all__ = ["in_flight"]


def in_flight(facts: Facts) -> Iterator[Suspect]:
    """Requests that arrive while their prefix is still computed for another one; in a long queue they wait
    for other reasons.
    """
    lost = facts.lost("in_flight")
    if facts.times is None or facts.queued or not facts.worth("RA506", int(lost.sum())):
        return
    if len(lost) < rule("RA506").threshold("least_requests") or facts.times[0][0] == facts.times[0][-1]:
        # One moment for all requests is that of an export.
        return
    positions = lost.nonzero()[0]
    arrivals, first_tokens, ends = facts.times
    ready = first_tokens if facts.hosted is None else ends
    first = int(positions[lost[positions].argmax()])
    owner = int(facts.partners[first])
    yield Suspect(
        rule="RA506",
        profile=facts.world.name,
        title="Requests start while their prefix is still computed for another one",
        place=facts.place(first, "timestamp"),
        before=f"{arrivals[first] - arrivals[owner]:.2f} s after {facts.request_id(owner)}",
        after=f"whose prefix is there {ready[owner] - arrivals[owner]:.2f} s after its start",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=EditSpec("warm_first", "safe", ()),
    )
