"""From a trace to advice: what is suspected, what of it is true, and what to do about it in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from radixadvisor.results import CheckedRule, Finding, Prescription, Where
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from radixadvisor.diagnose.candidate import Candidate
    from radixadvisor.diagnose.ra5xx.facts import Outcome
    from radixadvisor.diagnose.view import LogView
    from radixadvisor.prescribe.counterfactual import Fix, Trial
    from radixadvisor.results_order import OrderResult

    Counts = NDArray[np.int64]

__all__ = ["PROFILE", "Advice", "advise", "no_advice"]

PROFILE = "sglang"
"""The profile of every gain: page 1, outputs cached, an unlimited pool."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a report says of faults and fixes.

    ``order_gain`` is computed tokens before minus after all prescriptions, per request in order of arrival;
    None where nothing was diagnosed, for the reason in ``missing``. ``trial`` holds the log with all
    text prescriptions applied, ``order`` what the best order of sections reaches. ``serving``: by the id of a
    change of serving, the log as it was served and with that change alone.
    """

    findings: tuple[Finding, ...]
    prescriptions: tuple[Prescription, ...]
    checked: tuple[CheckedRule, ...]
    order_gain: Counts | None
    trial: Trial | None
    missing: dict[str, str]
    serving: dict[str, tuple[Outcome, Outcome]] = field(default_factory=dict)
    order: OrderResult | None = None


def no_advice(reason: str) -> Advice:
    """The advice where nothing was diagnosed."""
    return Advice((), (), (), None, None, dict.fromkeys(("findings", "ledger.order", "order"), reason))


def advise(trace: Trace) -> Advice:
    """Diagnose a trace and try every fix on it."""
    # All rules and edits are loaded only where there is something to diagnose.
    from radixadvisor.analysis.order import order_result, ordered
    from radixadvisor.diagnose.registry import detect
    from radixadvisor.diagnose.view import LogView

    view = LogView(trace)
    if not view.has_text:
        return no_advice("no text: the log holds no messages to diagnose")
    candidates = detect(view)
    trial = ordered(view, candidates)
    findings = [
        _finding(f"P{number}", fix, candidate)
        for number, fix in enumerate(trial.applied, start=1)
        for candidate in fix.candidates
    ]
    findings += [_explanation(candidate) for candidate in candidates if candidate.edit is None]
    return Advice(
        findings=tuple(sorted(findings, key=_rank)),
        prescriptions=tuple(
            _prescription(number, fix, view) for number, fix in enumerate(trial.applied, start=1)
        ),
        checked=tuple(
            CheckedRule(candidate.rule, candidate.title, fix.marginal, fix.alone)
            for fix in trial.rejected
            for candidate in fix.candidates
        ),
        order_gain=trial.before.computed - trial.after.computed,
        trial=trial,
        missing={},
        order=order_result(view, trial),
    )


def _rank(finding: Finding) -> tuple[bool, int, str]:
    return finding.severity == "low", -finding.lost_tokens, finding.rule


def _finding(number: str, fix: Fix, candidate: Candidate) -> Finding:
    return _told(candidate, number, max(fix.alone, fix.marginal))


def _explanation(candidate: Candidate) -> Finding:
    return _told(candidate, None, candidate.lost_tokens or 0)


def _told(candidate: Candidate, fix: str | None, lost: int) -> Finding:
    from radixadvisor.diagnose.rules import rule

    place = candidate.place
    return Finding(
        rule=candidate.rule,
        kind="explanation" if fix is None else "fix",
        profile=PROFILE,
        title=candidate.title,
        severity=rule(candidate.rule).severity,
        where=Where(place.request_id, place.path, place.start, place.end),
        before=candidate.before,
        after=candidate.after,
        requests=len(candidate.requests),
        lost_tokens=lost,
        fix=fix,
    )


def _prescription(number: int, fix: Fix, view: LogView) -> Prescription:
    from radixadvisor.prescribe.edits.words import words_of

    return Prescription(
        id=f"P{number}",
        rules=tuple(dict.fromkeys(candidate.rule for candidate in fix.candidates)),
        title=words_of(fix.spec),
        edit="text",
        safety=fix.spec.safety,
        alone_tokens=fix.alone,
        marginal_tokens=fix.marginal,
        marginal_interval=fix.interval,
        rate_after=fix.rate,
        hit_tokens=fix.hits,
        prompt_tokens=fix.length,
        applications=tuple(view.clusters[cluster].name for cluster in fix.spec.clusters),
        spec=fix.spec,
    )
