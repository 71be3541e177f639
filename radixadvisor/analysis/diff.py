"""Two reports, before and after a change: what moved, what of it is noise, and which faults are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from radixadvisor.analysis.comparable import doubts, left_alone, renamed
from radixadvisor.analysis.matching import Matched, match_findings
from radixadvisor.analysis.saved import Saved, SavedFinding, SavedFix, SavedNoise

__all__ = ["BETTER", "NOISE", "UNKNOWN", "WORSE", "Change", "Diff", "Promise", "compare_reports", "quantile"]

BETTER, WORSE, NOISE, UNKNOWN = "better", "worse", "within_noise", "unknown"

_NORMAL = 1.959964


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after; None where a report does not have it.

    ``low`` and ``high`` hold 95 % of the change if sessions were drawn anew, independently for both reports;
    None where a report does not tell its noise.
    """

    name: str
    before: float | None
    after: float | None
    low: float | None = None
    high: float | None = None

    @property
    def change(self) -> float | None:
        """After minus before."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def beyond_noise(self) -> bool | None:
        """Whether the interval leaves out 0; None without one."""
        return None if self.low is None or self.high is None else self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Promise:
    """What the first report promised of the changes that were made: those of ``ids``, the first ones of its
    list, whose findings are all gone. ``rate`` is the hit rate that it foresaw, ``reached`` what came.
    """

    ids: tuple[str, ...]
    profile: str
    rate: float
    reached: float | None


@dataclass(frozen=True, slots=True)
class Diff:
    """All that two reports say of each other.

    ``profile`` is the headline of the first; ``per_request`` are tokens per request under it. ``outcome``
    judges the computed tokens per request. ``findings`` is None where a report was not diagnosed, for the
    reason ``undiagnosed``.
    """

    before: Saved
    after: Saved
    profile: str
    rates: tuple[Change, ...]
    ledger: tuple[Change, ...]
    per_request: tuple[Change, ...]
    findings: Matched | None
    unseen: tuple[SavedFinding, ...]
    undiagnosed: str
    promise: Promise | None
    doubts: tuple[str, ...]
    outcome: str


def compare_reports(before: Saved, after: Saved) -> Diff:
    """Compare two reports."""
    profile = before.headline
    noise = _noise(before, after)
    per_request = tuple(_per_request(before, after, profile))
    undiagnosed = _undiagnosed(before, after)
    findings = match_findings(before, after) if not undiagnosed else None
    unseen = () if findings is None else tuple(_unseen(before, after, findings))
    return Diff(
        before=before,
        after=after,
        profile=profile,
        rates=tuple(
            _change(
                name, (before.rate(name), after.rate(name)), noise, [told.rates.get(name) for told in noise]
            )
            for name in _ordered(before.profiles, after.profiles)
        ),
        ledger=tuple(
            _change(
                name,
                (_share(before, name), _share(after, name)),
                noise,
                [told.ledger.get(name) for told in noise],
            )
            for name in _ordered(before.ledger, after.ledger)
        ),
        per_request=per_request,
        findings=findings,
        unseen=unseen,
        undiagnosed=undiagnosed,
        promise=None if findings is None else _promise(before, after, set(findings.gone) - set(unseen)),
        doubts=tuple(doubts(before, after)),
        outcome=_outcome(per_request[0]),
    )


def quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by its expansion at the normal's (Abramowitz, Stegun, 26.7.5)."""
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _ordered(first: Mapping[str, object], second: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _noise(before: Saved, after: Saved) -> tuple[SavedNoise, ...]:
    """The noise of both reports; empty where one does not tell it."""
    return () if before.noise is None or after.noise is None else (before.noise, after.noise)


def _change(
    name: str,
    figures: tuple[float | None, float | None],
    noise: Sequence[SavedNoise],
    errors: Sequence[float | None],
) -> Change:
    old, new = figures
    known = [error for error in errors if error is not None]
    if old is None or new is None or len(known) < 2:
        return Change(name, old, new)
    freedom = max(min(told.sessions for told in noise) - 1, 1)
    reach = quantile(freedom) * sqrt(sum(error**2 for error in known))
    return Change(name, old, new, new - old - reach, new - old + reach)


def _share(report: Saved, bucket: str) -> float | None:
    tokens = report.ledger.get(bucket)
    return None if tokens is None or not report.prompt_tokens else tokens / report.prompt_tokens


def _per_request(before: Saved, after: Saved, profile: str) -> Iterator[Change]:
    """Computed tokens, then prompt tokens."""
    noise = _noise(before, after)
    same = before.headline == after.headline
    computed = (_computed(before, profile), _computed(after, profile))
    yield _change("computed", computed, noise, [told.computed_per_request for told in noise if same])
    prompts = (before.prompt_tokens / before.requests, after.prompt_tokens / after.requests)
    yield _change("prompt", prompts, noise, [told.prompt_per_request for told in noise])


def _computed(report: Saved, profile: str) -> float | None:
    served = report.profiles.get(profile)
    return None if served is None else (report.prompt_tokens - served) / report.requests


def _undiagnosed(before: Saved, after: Saved) -> str:
    for report, which in ((before, "the first report"), (after, "the second report")):
        reason = report.not_evaluated.get("findings")
        if reason is not None and not report.findings:
            return f"{which} has no findings: {reason}"
    return ""


def _unseen(before: Saved, after: Saved, findings: Matched) -> Iterator[SavedFinding]:
    alone = left_alone(before, after)
    if not after.applications or not before.applications:
        return
    for item in findings.gone:
        if item.application in alone[0] and not renamed(before, after):
            yield item


def _promise(before: Saved, after: Saved, gone: set[SavedFinding]) -> Promise | None:
    made: list[SavedFix] = []
    for fix in before.prescriptions:
        own = [item for item in before.findings if item.fix == fix.id]
        if fix.edit != "text" or not own or not all(item in gone for item in own):
            break
        made.append(fix)
    if not made:
        return None
    last = made[-1]
    return Promise(tuple(fix.id for fix in made), last.profile, last.rate_after, after.rate(last.profile))


def _outcome(computed: Change) -> str:
    change = computed.change
    if change is None or computed.beyond_noise is None:
        return UNKNOWN
    if not computed.beyond_noise:
        return NOISE
    return BETTER if change < 0 else WORSE
