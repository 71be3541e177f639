"""RA502: requests that never read the cache."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.records import EditSpec
from radixadvisor.simulate.bypass import bypass_of
from radixadvisor.simulate.profiles import engine

__all__ = ["cache_bypass"]


def cache_bypass(facts: Facts) -> Iterator[Suspect]:
    """Requests with a feature for which the block cache skips its lookup, and what they would have found."""
    features = engine(facts.vllm.name).bypass
    order, requests = facts.trace.order, facts.trace.requests
    found = [bypass_of(requests[index], features) for index in order]
    if not any(found):
        return
    change = EditSpec("no_bypass", "review", ())
    lost = facts.vllm.serve(facts.trace, (change,)).served - facts.vllm.serve(facts.trace).served
    if not facts.worth("RA502", int(lost.sum())):
        return
    positions = lost.nonzero()[0]
    first = int(positions[0])
    names = sorted({name for name in found if name})
    count = sum(name is not None for name in found)
    named = " and ".join(names)
    page = EditSpec("page", "review", (), (("tokens", "1"),))
    with_it, without = (
        int(facts.vllm.serve(facts.trace, changes).served.sum()) / facts.total
        for changes in ((page,), (page, change))
    )
    yield Suspect(
        rule="RA502",
        profile=facts.vllm.name,
        title=f"Requests with {named} ({count} of {len(order)}) never read the cache",
        place=facts.place(first, found[first] or named),
        before=f"with {found[first]}: {with_it:.1%} of all prompt tokens served, whatever the block size",
        after=f"without: {without:.1%}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=change,
        rates=(with_it, without),
    )
