"""The decision of an analysis against what the engine measured: confirmed, refuted, or not to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.predict.outlook import FIXED, RADIX_ENGINE
from radixadvisor.replaying.claims import best_run, settled
from radixadvisor.replaying.orders import GIVEN, REWRITTEN
from radixadvisor.replaying.results import CONFIRMED, REFUTED, UNDECIDED, Claim, RunResult
from radixadvisor.results import Analysis
from radixadvisor.verdict import AFTER_FIXES, GO, INSUFFICIENT, NO_GO, read_thresholds

__all__ = ["Foreseen", "decision_of", "foreseen"]

_SAID = {
    GO: "go: a radix cache pays against no cache",
    AFTER_FIXES: "go after the changes to the prompts",
    NO_GO: "no go: a radix cache does not pay against no cache",
}
_SAVED = "prefill_time_saved"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What an analysis decided against no cache. ``saved`` and ``fixed`` (None without changes to the
    prompts) are shares of the prefill time; ``threshold`` is the least that pays; ``by_prefill`` is False for
    a refusal that the prefill alone does not explain, such as outputs that take most of the time.
    """

    decision: str
    saved: float
    fixed: float | None
    threshold: float
    by_prefill: bool


def foreseen(analysis: Analysis) -> Foreseen | None:
    """The decision of an analysis with the baseline ``none``; None where it has none."""
    prediction, verdict = analysis.prediction, analysis.verdict
    if prediction is None or verdict is None or verdict.main.baseline != "none":
        return None
    saved = prediction.outlooks[RADIX_ENGINE].time_saved
    fixed = prediction.outlooks[FIXED].time_saved if FIXED in prediction.outlooks else None
    threshold = float(read_thresholds()["none"][_SAVED]["value"])
    most = saved if fixed is None else max(saved, fixed)
    return Foreseen(verdict.main.decision, saved, fixed, threshold, most < threshold)


def decision_of(expected: Foreseen, runs: Sequence[RunResult]) -> Claim | None:
    """The decision as a claim on the ratio of prefill seconds; None where the runs say nothing of it."""
    off = best_run(runs, GIVEN, cache=False)
    if off is None or expected.decision == INSUFFICIENT:
        return None
    order = REWRITTEN if expected.decision == AFTER_FIXES else GIVEN
    on = best_run(runs, order, cache=True)
    text = _SAID[expected.decision]
    least = 1 / (1 - expected.threshold)
    share = expected.fixed if order == REWRITTEN and expected.fixed is not None else expected.saved
    if on is None:
        given = best_run(runs, GIVEN, cache=True)
        if given is None:
            return None
        reason = "the prompts with the changes were not run: --matrix runs them"
        ratio = off.prefill_seconds / given.prefill_seconds
        return _claim(text, off, given, share, ratio, least, UNDECIDED, reason)
    ratio = off.prefill_seconds / on.prefill_seconds
    if expected.decision == NO_GO and not expected.by_prefill:
        reason = "it rests on what decode takes; a replay cuts outputs short"
        return _claim(text, off, on, share, ratio, least, UNDECIDED, reason)
    pays = expected.decision != NO_GO
    outcome, reason = settled(pays, ratio, least, off, on)
    return _claim(text, off, on, share, ratio, least, outcome, reason)


def _claim(
    text: str,
    off: RunResult,
    on: RunResult,
    share: float,
    ratio: float,
    least: float,
    outcome: str,
    reason: str,
) -> Claim:
    assert outcome in (CONFIRMED, REFUTED, UNDECIDED)
    predicted = 1 / max(1 - share, 1e-9)
    names = off.label, on.label
    return Claim("decision", text, names, "prefill seconds", predicted, ratio, least, outcome, reason)
