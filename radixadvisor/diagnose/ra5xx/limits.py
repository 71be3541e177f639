"""RA505 and RA513: prefixes shorter than a cache's minimum, and what pages round away."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.diagnose.rules import rule
from radixadvisor.records import EditSpec

__all__ = ["below_minimum", "page_rounding"]


def below_minimum(facts: Facts) -> Iterator[Suspect]:
    """Shared beginnings that a hosted API does not cache because they are too short."""
    import numpy as np

    profile = facts.hosted
    if profile is None:
        return
    order, requests = facts.trace.order, facts.trace.requests
    minimums = np.array([profile.minimum_for(requests[index].model) for index in order], np.int64)
    short = facts.reuse < minimums
    if not facts.worth("RA505", int(facts.reuse[short].sum())):
        return
    if profile.kind == "breakpoints":
        lifted = facts.world.serve(facts.trace, (EditSpec("minimum", "review", ()),)).served
        lost = np.maximum(lifted - facts.world.serve(facts.trace).served, 0) * short
    else:
        lost = np.minimum(facts.lost("rounding"), facts.reuse) * short
    # What is short because of the text is not short by itself.
    lost *= facts.fixed_reuse < minimums
    page, count = rule("RA505"), np.count_nonzero(lost)
    few = max(page.threshold("least_requests_share") * len(lost), page.threshold("least_requests"))
    if not facts.worth("RA505", int(lost.sum())) or count < few:
        return
    positions = lost.nonzero()[0]
    longest = int(facts.reuse[positions].max())
    first = int(positions[facts.reuse[positions].argmax()])
    least = int(minimums[positions].min())
    yield Suspect(
        rule="RA505",
        profile=facts.world.name,
        title=f"Shared beginnings are shorter than the {least:,} tokens from which {profile.name} caches",
        place=facts.place(first, "messages"),
        before=f"at most {longest:,} tokens shared",
        after=f"cached from {int(minimums[first]):,} tokens on",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
    )


def page_rounding(facts: Facts) -> Iterator[Suspect]:
    """What the block cache loses to its blocks, where that is much of the log."""
    import numpy as np

    if len(facts.lengths) < rule("RA513").threshold("least_requests") or facts.trace.unit > 1:
        return
    change = EditSpec("page", "review", (), (("tokens", "1"),))
    now = facts.vllm.serve(facts.trace)
    lost = np.maximum(facts.vllm.serve(facts.trace, (change,)).served - now.served, 0)
    if not facts.worth("RA513", int(lost.sum())):
        return
    positions = lost.nonzero()[0]
    first = int(positions[lost[positions].argmax()])
    shared = int(now.served[first] + lost[first])
    yield Suspect(
        rule="RA513",
        profile=facts.vllm.name,
        title=f"Shared beginnings end inside a block: {int(lost.sum()) / len(positions):.0f} tokens a "
        "request are lost to rounding",
        place=facts.place(first, "messages"),
        before=f"{shared:,} tokens shared",
        after=f"{int(now.served[first]):,} in whole blocks",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
        change=change,
    )
