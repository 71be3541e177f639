"""RA510: cache breakpoints that are missing, too many, too far from an entry, or behind text that varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from radixadvisor.diagnose.ra5xx.facts import Facts, HostedWorld, Suspect
from radixadvisor.records import EditSpec
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.trace import Trace
from radixadvisor.trace.content_blocks import BlockEnd, ContentBlocks

__all__ = ["PLANS", "misplaced", "planned"]

PLANS = {
    "head": "the end of the system prompt",
    "history": "the last message",
    "both": "the end of the system prompt, the last message, and where the last request ended",
}
_HEAD = ("tools", "system", "developer")
_CLOSE = 0.98


def planned(ends: tuple[BlockEnd, ...], plan: str, lookback: int) -> list[BlockEnd]:
    """The block ends that a plan puts a breakpoint at, ascending; at most four."""
    head = 0
    while head < len(ends) and ends[head].role in _HEAD:
        head += 1
    places = set()
    if plan in ("head", "both") and head:
        places.add(head - 1)
    if plan in ("history", "both") and ends:
        places.add(len(ends) - 1)
    if plan == "both":
        # The last request ended right before the assistant turns that this one carries on from.
        at = len(ends) - 1
        while at >= head and ends[at].role != "assistant":
            at -= 1
        while at >= head and ends[at].role == "assistant":
            at -= 1
        if at >= head:
            places.add(at)
        # Should more have come in between, an entry up to twice the look-back away is still found.
        if len(ends) - 1 - lookback >= head:
            places.add(len(ends) - 1 - lookback)
    return [ends[place] for place in sorted(places)]


def misplaced(facts: Facts) -> Iterator[Suspect]:
    """Breakpoints set otherwise, where that serves more and costs less."""
    profile = facts.hosted
    if profile is None or profile.kind != "breakpoints":
        return
    world = cast("HostedWorld", facts.world)
    blocks = ContentBlocks(facts.trace)
    ends = [blocks.of(index) for index in facts.trace.order]
    marked = any(end.mark for found in ends for end in found)
    if not marked and not reported_nothing(facts.trace):
        return
    now, bill = world.serve(facts.trace), world.bill(facts.trace)
    tried = []
    for plan in PLANS:
        change = EditSpec("breakpoints", "safe", (), (("plan", plan),))
        gains = world.serve(facts.trace, (change,)).served - now.served
        if facts.worth("RA510", int(gains.sum())):
            tried.append((world.bill(facts.trace, (change,)), change, gains))
    paying = [found for found in tried if found[0] < bill]
    if not paying:
        return
    most = max(int(gains.sum()) for _, _, gains in paying)
    _, change, gains = min(
        (found for found in paying if found[2].sum() >= _CLOSE * most), key=lambda found: found[0]
    )
    positions = (gains > 0).nonzero()[0]
    first = int(positions[0])
    causes = Counter(
        _cause(ends[position], int(facts.reuse[position]), profile) for position in positions.tolist()
    )
    named = ", ".join(f"{count} requests {cause}" for cause, count in causes.most_common(2))
    yield Suspect(
        rule="RA510",
        profile=world.name,
        title=f"Cache breakpoints miss what is stable: {named}",
        place=facts.place(first, "cache_control"),
        before=_placed(ends[first], profile),
        after=f"{int(now.served[first] + gains[first]):,} tokens with one at "
        f"{PLANS[dict(change.parameters)['plan']]}",
        requests=facts.indices(positions),
        lost_tokens=int(gains.sum()),
        change=change,
    )


def reported_nothing(trace: Trace) -> bool:
    """Whether the API reported for every request that it neither read nor wrote its cache."""
    usages = [request.usage for request in trace.requests]
    return all(usage is not None and usage.cached == 0 and usage.cache_write == 0 for usage in usages)


def _cause(ends: tuple[BlockEnd, ...], shared: int, profile: HostedProfile) -> str:
    """Why the breakpoints of one request find less than it shares."""
    marks = [number for number, end in enumerate(ends) if end.mark is not None]
    if not marks:
        return "have none"
    if len(marks) > profile.max_breakpoints:
        return f"have more than {profile.max_breakpoints}"
    reached = [number for number, end in enumerate(ends) if end.tokens <= shared]
    stable = reached[-1] if reached else -1
    behind = [mark for mark in marks if mark > stable]
    if behind and behind[0] - stable > profile.lookback:
        return f"have them more than {profile.lookback} blocks behind the last entry"
    if len(behind) == len(marks):
        return "have them behind text that varies"
    return "have them before the end of it"


def _placed(ends: tuple[BlockEnd, ...], profile: HostedProfile) -> str:
    marks = [end.tokens for end in ends if end.mark is not None]
    if not marks:
        return "no breakpoint"
    shown = ", ".join(f"{tokens:,}" for tokens in marks[: profile.max_breakpoints + 1])
    return f"breakpoints behind {shown} tokens"
