"""RA504: prefixes that expire before they are used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from radixadvisor.diagnose.ra5xx.facts import Facts, HostedWorld, Suspect
from radixadvisor.records import EditSpec

__all__ = ["expiry"]


def expiry(facts: Facts) -> Iterator[Suspect]:
    """What expired, and the cheapest way to keep it, if that costs less than computing it again."""
    profile = facts.hosted
    lost = facts.lost("ttl")
    if profile is None or not facts.worth("RA504", int(lost.sum())):
        return
    world = cast("HostedWorld", facts.world)
    positions = lost.nonzero()[0]
    gaps = [gap for position in positions if (gap := facts.gap(int(position))) is not None]
    first = int(positions[0])
    ways = [
        EditSpec("lifetime", "review", (), (("name", name), ("seconds", f"{seconds:g}")))
        for name, seconds in sorted(profile.lifetimes.items(), key=lambda item: item[1])
        if seconds > profile.lifetime
    ]
    if profile.keeps_alive and gaps:
        ways.append(EditSpec("keep_alive", "review", (), (("seconds", f"{profile.lifetime:g}"),)))
    now = world.bill(facts.trace)
    served = int(world.serve(facts.trace).served.sum())
    paying = [
        (bill, way)
        for way in ways
        if (bill := world.bill(facts.trace, (way,))) < now
        and facts.worth("RA504", int(world.serve(facts.trace, (way,)).served.sum()) - served)
    ]
    change = min(paying, key=lambda found: found[0])[1] if paying else None
    longest = max((seconds for seconds in profile.lifetimes.values()), default=profile.lifetime)
    short = world.still_cached(facts.trace, profile.lifetime)
    long = world.still_cached(facts.trace, longest)
    wait = f"{min(gaps):,.0f} to {max(gaps):,.0f} s" if gaps else "too long"
    title = (
        f"Prefixes expire: {len(positions)} requests come {wait} after the one before, entries live "
        f"{profile.lifetime:,.0f} s"
    )
    if change is None:
        title += "; keeping them longer costs more than it saves"
    yield Suspect(
        rule="RA504",
        profile=world.name,
        title=title,
        place=facts.place(first, "timestamp"),
        before=f"{profile.lifetime:,.0f} s: {short:.1%} of the prompt tokens are still there",
        after=f"{longest:,.0f} s: {long:.1%}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=change,
        rates=(short, long),
    )
