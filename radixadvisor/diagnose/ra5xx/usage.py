"""RA511, RA512, and RA502 by report: cached tokens as the server told them, held against its rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.diagnose.ra5xx.breakpoints import reported_nothing
from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.diagnose.rules import rule
from radixadvisor.simulate.bypass import media_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]

__all__ = ["Reported", "reported", "reported_usage"]


@dataclass(frozen=True, slots=True)
class Reported:
    """Reported against expected, in the server's own tokens, per request in order of arrival.

    ``known``: the server reported cached tokens. ``scale``: its tokens for one of the log's. ``due``: the
    rules give a considerable hit. ``missed``: such a request for which next to nothing was reported.
    ``sudden``: one of these that came almost at once behind the request that left its prefix, in a log whose
    other hits are reported.
    """

    known: Flags
    scale: Floats
    expected: Counts
    told: Counts
    due: Flags
    missed: Flags
    sudden: Flags

    @property
    def short(self) -> Counts:
        """Tokens expected and not reported, in tokens of the log."""
        return self._own(self.expected - self.told)

    @property
    def beyond(self) -> Counts:
        """Tokens reported and not expected, in tokens of the log."""
        return self._own(self.told - self.expected)

    def _own(self, distance: Counts) -> Counts:
        import numpy as np

        found: Counts = np.where(self.known, np.round(np.maximum(distance, 0) / self.scale), 0).astype(
            np.int64
        )
        return found


def reported(facts: Facts) -> Reported | None:
    """What the server said; None where it said nothing."""
    import numpy as np

    requests = [facts.trace.requests[index] for index in facts.trace.order]
    cached = [None if request.usage is None else request.usage.cached for request in requests]
    known = np.array([tokens is not None for tokens in cached], np.bool_)
    if not known.any():
        return None
    sizes = np.array(
        [
            (request.usage.prompt if request.usage is not None else None) or length
            for request, length in zip(requests, facts.lengths.tolist(), strict=True)
        ],
        np.float64,
    )
    served = facts.columns["served"]
    assert served is not None
    scale = sizes / np.maximum(facts.lengths, 1)
    expected = np.asarray(np.round(served * scale), np.int64)
    told = np.array([tokens or 0 for tokens in cached], np.int64)
    page = rule("RA512")
    due = known & (expected >= page.threshold("least_tokens")) & (2 * expected >= sizes)
    missed = due & (told < page.threshold("least_reported") * expected)
    sudden = np.zeros(len(requests), np.bool_)
    if missed.sum() * 2 <= due.sum():
        for position in missed.nonzero()[0].tolist():
            gap = facts.gap(position)
            sudden[position] = gap is not None and gap <= page.threshold("within_seconds")
    return Reported(known, scale, expected, told, due, missed, sudden)


def reported_usage(facts: Facts) -> Iterator[Suspect]:
    """What is reported otherwise than expected: a few sudden misses, and a distance over the whole log."""
    import numpy as np

    found = reported(facts)
    if found is None or _unmarked(facts):
        return
    media = _media_missed(facts, found)
    aside = found.missed if media is not None else np.zeros_like(found.missed)
    if media is not None:
        yield media
    sudden = np.where(found.sudden & ~aside, found.short, 0)
    if facts.worth("RA512", int(sudden.sum())):
        positions = sudden.nonzero()[0]
        first = int(positions[0])
        yield Suspect(
            rule="RA512",
            profile=facts.world.name,
            title="Misses are reported although nothing changed; the provider's side is suspected",
            place=facts.place(first, "usage"),
            before=f"{int(found.told[first]):,} cached tokens reported, "
            f"{facts.gap(first) or 0.0:,.0f} s after {facts.request_id(int(facts.partners[first]))}",
            after=f"{int(found.expected[first]):,} by the rules of {facts.world.name}",
            requests=facts.indices(positions),
            lost_tokens=int(sudden.sum()),
        )
    if found.known.sum() < rule("RA511").threshold("least_requests"):
        return
    short, beyond = np.where(aside, 0, found.short - sudden), found.beyond
    for tokens, less in ((short, True), (beyond, False)):
        if facts.worth("RA511", int(tokens.sum())) and tokens.sum() >= (beyond if less else short).sum():
            yield _disagrees(facts, found, tokens, less=less)
            return


def _media_missed(facts: Facts, found: Reported) -> Suspect | None:
    """Requests with images or other media for which the server reports no hit, while it does for others: by
    its own account they never read the cache.
    """
    import numpy as np

    kinds = [next(media_of(facts.trace.requests[index]), None) for index in facts.trace.order]
    seen = np.array([kind is not None for kind in kinds], np.bool_)
    due, missed = found.due & seen, found.missed & seen
    others = found.due & ~seen
    lost = np.where(missed, found.short, 0)
    few = rule("RA502").threshold("least_reported")
    if due.sum() < few or others.sum() < few or not facts.worth("RA502", int(lost.sum())):
        return None
    if (missed != due).any() or (found.missed & others).any():
        return None
    first = int(missed.nonzero()[0][0])
    named = " and ".join(sorted({kind for kind in kinds if kind is not None}))
    return Suspect(
        rule="RA502",
        profile=facts.world.name,
        title=f"By the server's report, requests with {named} parts ({int(due.sum())}) never read the cache",
        place=facts.place(first, kinds[first] or "content"),
        before=f"{int(found.told[first]):,} cached tokens reported",
        after=f"{int(found.expected[first]):,} by the rules of {facts.world.name}, as others are served",
        requests=facts.indices(missed.nonzero()[0]),
        lost_tokens=int(lost.sum()),
    )


def _unmarked(facts: Facts) -> bool:
    """Whether nothing is reported for want of breakpoints: that is said as such."""
    hosted = facts.hosted
    return hosted is not None and hosted.kind == "breakpoints" and reported_nothing(facts.trace)


def _disagrees(facts: Facts, found: Reported, tokens: Counts, *, less: bool) -> Suspect:
    positions = tokens.nonzero()[0]
    first = int(positions[tokens[positions].argmax()])
    told, expected = int(found.told[found.known].sum()), int(found.expected[found.known].sum())
    return Suspect(
        rule="RA511",
        profile=facts.world.name,
        title=f"The server reports {told:,} cached tokens, its rules give {expected:,}; likely: "
        f"{_cause(facts, found) if less else 'other traffic than the log holds warmed the cache'}",
        place=facts.place(first, "usage"),
        before=f"{int(found.told[first]):,} cached tokens reported",
        after=f"{int(found.expected[first]):,} by the rules of {facts.world.name}",
        requests=facts.indices(positions),
        lost_tokens=int(tokens.sum()),
    )


def _cause(facts: Facts, found: Reported) -> str:
    """What would explain that less is reported than expected."""
    import numpy as np

    if not found.told.any():
        return "caching is off, or hits are not reported"
    gaps = np.array([facts.gap(position) or -1.0 for position in range(len(facts.lengths))])
    hit = found.due & ~found.missed
    if found.missed.any() and hit.any() and (gaps[found.due] >= 0).all():
        latest, soonest = gaps[hit].max(), gaps[found.missed].min()
        if latest < soonest:
            return (
                f"entries are gone after {latest:,.0f} to {soonest:,.0f} s (eviction, or a shorter lifetime)"
            )
    if facts.replicas is None and found.missed.any():
        return "several replicas, or eviction from a full pool"
    if found.missed.any():
        return "eviction from a full pool"
    return "larger pages, or a proxy that changes the text"
