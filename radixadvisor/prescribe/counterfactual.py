"""Every suspected fault tried on the log: each fix alone, then one after the other, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.variant import Variant, Workshop
from radixadvisor.records import EditSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Fix", "Trial", "interval", "try_all", "try_further"]

LEAST_GAIN = 0.004
"""The share of its applications' prompt tokens that a fix gains at least, where its rule names no other."""

_RESAMPLES = 200
_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Fix:
    """One edit tried, with the candidates that ask for it.

    Tokens: ``alone`` and ``marginal`` are computed tokens before minus after, on the log as read and behind
    the fixes applied before it; ``interval`` holds 95 % of the marginal gains of resampled sessions;
    ``hits`` and ``length`` are the marginal changes of served and of prompt tokens; ``rate`` is the hit rate
    with this fix and those before it.
    """

    spec: EditSpec
    candidates: tuple[Candidate, ...]
    alone: int
    marginal: int
    interval: tuple[int, int]
    hits: int
    length: int
    rate: float


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome: fixes to apply in this order, those that gain nothing, and the log before and after.

    ``before.computed.sum()`` minus the marginal gains of ``applied`` is ``after.computed.sum()``.
    """

    applied: tuple[Fix, ...]
    rejected: tuple[Fix, ...]
    before: Variant
    after: Variant


def try_all(view: LogView, candidates: Sequence[Candidate]) -> Trial:
    """Apply, measure and order the fixes of all candidates; candidates without an edit are left out."""
    shop = Workshop(view)
    return _try(view, shop, Trial((), (), shop.base, shop.base), candidates)


def try_further(view: LogView, trial: Trial, candidates: Sequence[Candidate]) -> Trial:
    """The trial with more candidates tried behind the fixes that it applies; those that gain nothing are
    forgotten.
    """
    further = _try(view, Workshop(view), trial, candidates)
    return replace(further, rejected=trial.rejected)


def _try(view: LogView, shop: Workshop, trial: Trial, candidates: Sequence[Candidate]) -> Trial:
    groups: dict[EditSpec, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.edit is not None:
            groups.setdefault(candidate.edit, []).append(candidate)
    tried = {spec: shop.with_edit(trial.before, spec) for spec in groups}
    alone = {spec: _gain(trial.before, variant) for spec, variant in tried.items()}
    state = trial.after
    if state is not trial.before:
        tried = {spec: shop.with_edit(state, spec) for spec in groups}
    gains = {spec: _gain(state, variant) for spec, variant in tried.items()}
    least = {spec: _least(view, spec, members) for spec, members in groups.items()}
    applied = list(trial.applied)
    while gains:
        step = _best(shop, state, gains, least)
        if not step:
            break
        for spec in step:
            following = tried[spec]
            if following.edits != (*state.edits, spec):
                following = shop.with_edit(state, spec)
            applied.append(_fix(view, spec, groups[spec], alone[spec], state, following))
            state = following
            del gains[spec]
            for other in gains:
                if set(other.clusters) & set(spec.clusters):
                    tried[other] = shop.with_edit(state, other)
                    gains[other] = _gain(state, tried[other])
    rejected = []
    for spec in gains:
        following = tried[spec] if tried[spec].edits == (*state.edits, spec) else shop.with_edit(state, spec)
        rejected.append(_fix(view, spec, groups[spec], alone[spec], state, following))
    return Trial(tuple(applied), tuple(rejected), trial.before, state)


def _gain(before: Variant, after: Variant) -> int:
    return int(before.computed.sum() - after.computed.sum())


def _least(view: LogView, spec: EditSpec, candidates: Sequence[Candidate]) -> float:
    """Tokens that a fix gains at least to be worth a line."""
    shares = [dict(rule(candidate.rule).thresholds).get("least_gain", LEAST_GAIN) for candidate in candidates]
    tokens = sum(
        view.trace.lengths[index] for cluster in spec.clusters for index in view.clusters[cluster].requests
    )
    return max(min(shares) * tokens, 1.0)


def _best(
    shop: Workshop, state: Variant, gains: dict[EditSpec, int], least: dict[EditSpec, float]
) -> tuple[EditSpec, ...]:
    """The fix to apply next; where none gains by itself, the two of one application that gain together."""
    worth = [spec for spec in gains if gains[spec] >= least[spec]]
    if worth:
        return (max(worth, key=lambda spec: gains[spec]),)
    best = 0
    found: tuple[EditSpec, ...] = ()
    close = sorted(gains, key=lambda spec: -gains[spec])[:_PAIRS]
    for first, second in combinations(close, 2):
        if not set(first.clusters) & set(second.clusters):
            continue
        gain = _gain(state, shop.with_edits(state, (first, second)))
        if gain >= least[first] + least[second] and gain > best:
            best, found = gain, (first, second)
    return found


def _fix(
    view: LogView,
    spec: EditSpec,
    candidates: Sequence[Candidate],
    alone: int,
    before: Variant,
    after: Variant,
) -> Fix:
    gains = before.computed - after.computed
    total = int(after.lengths.sum())
    return Fix(
        spec=spec,
        candidates=tuple(candidates),
        alone=alone,
        marginal=int(gains.sum()),
        interval=interval(gains, [view.trace.sessions[index] for index in view.order]),
        hits=int(after.served.sum() - before.served.sum()),
        length=total - int(before.lengths.sum()),
        rate=int(after.served.sum()) / total if total else 0.0,
    )


def interval(gains: Counts, sessions: Sequence[int]) -> tuple[int, int]:
    """The middle 95 % of total gains when sessions are drawn anew, as many as there are."""
    import numpy as np

    _, numbers = np.unique(np.asarray(sessions), return_inverse=True)
    sums = np.bincount(numbers, weights=gains)
    generator = np.random.default_rng(0)
    count = len(sums)
    draws = generator.multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    low, high = np.percentile(draws @ sums, (2.5, 97.5))
    return int(low), int(high)
