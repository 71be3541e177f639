"""How far a log's figures would move if other sessions of the same kind had been logged."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from radixadvisor.analysis.measure import Measured
from radixadvisor.results import Noise
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["FEWEST", "noise_of", "ratio_error"]

FEWEST = 5
"""Sessions below which no error is told."""


def noise_of(trace: Trace, found: Measured) -> Noise | None:
    """Standard errors of hit rates, of the ledger's shares, and of computed tokens per request; None for
    fewer than ``FEWEST`` sessions.

    Sessions are taken as independent of each other; without names for them, requests with the same first user
    turn are one session.
    """
    import numpy as np

    _, groups = np.unique(_sessions(trace), return_inverse=True)
    count = int(groups.max()) + 1
    if count < FEWEST:
        return None
    ones = np.ones_like(found.lengths)
    computed = found.lengths - found.profiles[found.headline]
    rates = {"unlimited": found.unlimited, **found.profiles}
    buckets = {name: column for name, column in found.ledger.columns.items() if column is not None}
    return Noise(
        sessions=count,
        rates={name: ratio_error(column, found.lengths, groups) for name, column in rates.items()},
        ledger={name: ratio_error(column, found.lengths, groups) for name, column in buckets.items()},
        computed_per_request=ratio_error(computed, ones, groups),
        prompt_per_request=ratio_error(found.lengths, ones, groups),
    )


def ratio_error(parts: Counts, wholes: Counts, groups: NDArray[np.int64]) -> float:
    """The standard error of ``parts.sum() / wholes.sum()`` over groups drawn at random.

    The linearised variance of a ratio (Cochran, Sampling Techniques, 6.3):
    n / (n - 1) * sum((part - ratio * whole)^2) / sum(whole)^2 over the sums of each group.
    """
    import numpy as np

    count = int(groups.max()) + 1
    part = np.bincount(groups, weights=parts, minlength=count)
    whole = np.bincount(groups, weights=wholes, minlength=count)
    total = float(whole.sum())
    if not total or count < 2:
        return 0.0
    rest = part - float(part.sum()) / total * whole
    return float(np.sqrt(count / (count - 1) * float(rest @ rest)) / total)


def _sessions(trace: Trace) -> list[int]:
    """A number per request in order of arrival; equal numbers are one session."""
    if trace.named_sessions:
        return [trace.sessions[index] for index in trace.order]
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(_first_turn(trace, index), len(numbers)) for index in trace.order]


def _first_turn(trace: Trace, index: int) -> Hashable:
    messages = trace.requests[index].messages or ()
    return next((message for message in messages if message.role == "user"), index)
