"""What the simulation says of a log in advance, set against what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from radixadvisor.replaying.orders import GIVEN, REWRITTEN, SHUFFLED
from radixadvisor.replaying.results import CONFIRMED, REFUTED, UNDECIDED, Claim, RunResult

__all__ = ["WORTH", "best_run", "claims_of", "settled"]

WORTH = 1.1
"""From this ratio of prefill work on a change counts as a gain."""

_RIVALS = ("lpm", "fcfs")

_MARGIN, _MARGIN_OF_ONE = 0.05, 0.25
"""Measured ratios so near to the threshold decide nothing; the second where each run was made only once, as
seconds on a machine that does other things too vary by as much.
"""

_SHORTEST = 0.25
"""Seconds of prefill below which a run is mostly noise."""


def claims_of(runs: Sequence[RunResult]) -> tuple[Claim, ...]:
    """Every claim for which the runs were made. Runs that were stopped say nothing."""
    return tuple(_claims([run for run in runs if run.complete and run.requests]))


def _claims(runs: Sequence[RunResult]) -> Iterator[Claim]:
    off, on = _find(runs, GIVEN, cache=False), _find(runs, GIVEN, cache=True)
    if off is not None and on is not None:
        yield _ratio("cache", "the cache pays in the given order", "the cache does not pay here", off, on)
    rewritten, shuffled = _find(runs, REWRITTEN, cache=True), _find(runs, SHUFFLED, cache=True)
    if on is not None and rewritten is not None:
        yield _ratio(
            "prescriptions", "the prescriptions help", "the prescriptions do not help here", on, rewritten
        )
    best = rewritten or on
    if best is not None and shuffled is not None:
        yield _ratio(
            "order",
            "the gain is lost when sections come in random order",
            "sections in random order cost nothing here",
            shuffled,
            best,
        )
    lpm, fcfs = (_find(runs, best.order, cache=True, policy=name) if best else None for name in _RIVALS)
    if lpm is not None and fcfs is not None:
        yield _hits(lpm, fcfs)


def _find(
    runs: Sequence[RunResult], order: str, *, cache: bool, policy: str | None = None
) -> RunResult | None:
    """The run of an order whose policy hits most, the first of equal ones; or that of one policy."""
    found = [
        run
        for run in runs
        if run.order == order and run.cache is cache and (policy is None or run.policy == policy)
    ]
    return max(found, key=lambda run: run.predicted_tokens, default=None)


def _ratio(name: str, gain: str, none: str, slow: RunResult, fast: RunResult) -> Claim:
    """``predicted`` is the ratio of prefill FLOPs, ``measured`` that of prefill seconds."""
    predicted = slow.predicted_flops / fast.predicted_flops
    measured = slow.prefill_seconds / fast.prefill_seconds
    outcome, reason = settled(predicted >= WORTH, measured, WORTH, slow, fast)
    text = gain if predicted >= WORTH else none
    names = slow.label, fast.label
    return Claim(name, text, names, "prefill seconds", predicted, measured, WORTH, outcome, reason)


def settled(
    pays: bool, measured: float, threshold: float, slow: RunResult, fast: RunResult
) -> tuple[str, str]:
    """Whether the ratio of prefill seconds of two runs lies on the side of a threshold that was foreseen, and
    why that cannot be told.
    """
    once = min(len(slow.times), len(fast.times)) == 1
    margin = _MARGIN_OF_ONE if once else _MARGIN
    ratio = measured / threshold
    if slow.prefill_seconds < _SHORTEST:
        return UNDECIDED, f"a prefill of {slow.prefill_seconds:.2f} s is too short to tell"
    if max(ratio, 1 / ratio) <= 1 + margin:
        return UNDECIDED, f"within {margin:.0%} of the threshold" + (
            "; --repeat 3 tells more" if once else ""
        )
    return (CONFIRMED if pays == (measured >= threshold) else REFUTED), ""


def best_run(runs: Sequence[RunResult], order: str, *, cache: bool) -> RunResult | None:
    """The complete run of an order, with the cache that of the policy expected to hit most; None if there is
    none.
    """
    return _find([run for run in runs if run.complete and run.requests], order, cache=cache)


def _hits(lpm: RunResult, fcfs: RunResult) -> Claim:
    """Tokens, not seconds: with the longest match first against first come, first served."""
    predicted = lpm.predicted_tokens / max(fcfs.predicted_tokens, 1)
    measured = lpm.hit_tokens / max(fcfs.hit_tokens, 1)
    more = predicted > 1
    outcome = CONFIRMED if more == (measured > 1) else REFUTED
    text = "lpm hits more than fcfs" if more else "lpm hits no more than fcfs here"
    return Claim("policy", text, (lpm.label, fcfs.label), "hit tokens", predicted, measured, 1.0, outcome)
