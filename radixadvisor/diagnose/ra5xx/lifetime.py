"""RA504: prefixes that expire before they are used again."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import cast

from radixadvisor.diagnose.ra5xx.facts import Facts, HostedWorld, Suspect
from radixadvisor.records import EditSpec
from radixadvisor.simulate.hosted_profiles import HostedProfile

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
    longest = max(profile.lifetimes.values(), default=profile.lifetime)
    reach = longest if longest > profile.lifetime else inf
    short, long = (world.still_cached(facts.trace, seconds) for seconds in (profile.lifetime, reach))
    change, price = _paying(facts, world, profile)
    wait = " to ".join(dict.fromkeys(f"{gap:,.0f}" for gap in (min(gaps), max(gaps)))) if gaps else ""
    yield Suspect(
        rule="RA504",
        profile=world.name,
        title=f"Prefixes expire: entries live {profile.lifetime:,.0f} s, their next use comes after "
        f"{wait or 'more'} s; {price}",
        place=facts.place(first, "timestamp"),
        before=f"{profile.lifetime:,.0f} s: {short:.1%} of the prompt tokens are still there",
        after=f"{f'{reach:,.0f} s' if reach < inf else 'without expiry'}: {long:.1%}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=change,
        rates=(short, long),
    )


def _paying(facts: Facts, world: HostedWorld, profile: HostedProfile) -> tuple[EditSpec | None, str]:
    """The way to keep prefixes that costs least, writes and reads counted, and what it does to the bill; a
    longer lifetime before a client that has to keep entries alive by itself.
    """
    now = world.bill(facts.trace)
    served = int(world.serve(facts.trace).served.sum())
    longer = [
        EditSpec("lifetime", "review", (), (("name", name), ("seconds", f"{seconds:g}")))
        for name, seconds in sorted(profile.lifetimes.items(), key=lambda item: item[1])
        if seconds > profile.lifetime
    ]
    beats = EditSpec("keep_alive", "review", (), (("seconds", f"{profile.lifetime:g}"),))
    for ways in (longer, [beats] if profile.keeps_alive else []):
        bills = [
            (world.bill(facts.trace, (way,)), way)
            for way in ways
            if facts.worth("RA504", int(world.serve(facts.trace, (way,)).served.sum()) - served)
        ]
        if bills and (best := min(bills, key=lambda found: found[0]))[0] < now:
            return best[1], f"keeping them cuts the bill for prompts by {1 - best[0] / now:.0%}"
    return None, "keeping them longer costs more than it saves"
