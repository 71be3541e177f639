"""Seconds of a pass from measured ones: linear in what it computes, with no negative coefficient.

    prefill  t = k0 + k1 n + k2 (n c + n^2 / 2) + k3 (c + n)
    decode   t = d0 + d1 b + d2 sum(context)

The fit weighs relative errors, so that short passes count as much as long ones. A third of the points is held
out and tells how far the coefficients can be trusted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence as Values
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radixadvisor.errors import UsageError
from radixadvisor.predict.nnls import nnls
from radixadvisor.predict.points import Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["SCHEMA", "THROUGHPUT_GATE", "TTFT_GATE", "Calibration", "Fit", "calibrate", "read_calibration"]

SCHEMA = "radixadvisor/calibration/1"
THROUGHPUT_GATE = 0.10
"""Error of the held-out passes' seconds in sum, beyond which no throughput is predicted."""
TTFT_GATE = 0.20
"""Median error of a held-out pass, beyond which no time is predicted."""
FEWEST_PREFILL, FEWEST_DECODE = 8, 6


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients in seconds, from ``points`` passes; on ``held_out`` others the error of the seconds in sum
    (signed, relative) and the median error of one (relative).
    """

    coefficients: tuple[float, ...]
    points: int
    held_out: int
    sum_error: float
    median_error: float

    def failures(self, phase: str) -> list[str]:
        """Which gates do not hold, in words."""
        found = []
        if abs(self.sum_error) > THROUGHPUT_GATE:
            found.append(
                f"held-out {phase} passes take {self.sum_error:+.0%} of what was measured in sum (gate "
                f"{THROUGHPUT_GATE:.0%})"
            )
        if self.median_error > TTFT_GATE:
            found.append(
                f"a held-out {phase} pass is {self.median_error:.0%} off in the median (gate {TTFT_GATE:.0%})"
            )
        return found


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured coefficients; a cost for the scheduler's clock. ``model`` and ``device`` name what was
    measured, None if unknown.
    """

    prefill: Fit
    decode: Fit
    model: str | None
    device: str | None

    @property
    def failures(self) -> tuple[str, ...]:
        """Why it must not be used; empty if it may."""
        return (*self.prefill.failures("prefill"), *self.decode.failures("decode"))

    @property
    def error(self) -> float:
        """The larger of the two phases' errors in sum."""
        return max(abs(self.prefill.sum_error), abs(self.decode.sum_error))

    def pass_seconds(
        self, new: Values[int], cached: Values[int], logits: int, contexts: Values[int] = ()
    ) -> float:
        """One pass; what prefill and decode cost beside their tokens is paid once."""
        k0, k1, k2, k3 = self.prefill.coefficients
        d0, d1, d2 = self.decode.coefficients
        seconds = max(k0 if new else 0.0, d0 if contexts else 0.0)
        pairs = sum([n * c + n * n / 2 for n, c in zip(new, cached, strict=True)])
        seconds += k1 * sum(new) + k2 * pairs + k3 * (sum(new) + sum(cached))
        return max(seconds + d1 * len(contexts) + d2 * sum(contexts), 1e-9)

    def prefill_each(self, new: Counts, cached: Counts, group: int = 1) -> Floats:
        """Prompts, so many neighbours in each pass."""
        import numpy as np

        n, c = new.astype(np.float64), cached.astype(np.float64)
        k0, k1, k2, k3 = self.prefill.coefficients
        each = k1 * n + k2 * (n * c + n * n / 2) + k3 * (c + n)
        seconds: Floats = k0 + np.add.reduceat(each, np.arange(0, len(n), group))
        return np.maximum(seconds, 1e-9)

    def decode_passes(self, contexts: Values[int], passes: int) -> Floats:
        """Each of so many passes in a row over the same sequences."""
        import numpy as np

        d0, d1, d2 = self.decode.coefficients
        batch = len(contexts)
        held = float(sum(contexts)) + batch * np.arange(passes, dtype=np.float64)
        seconds: Floats = d0 + d1 * batch + d2 * held
        return np.maximum(seconds, 1e-9)

    def to_json(self) -> bytes:
        """The calibration as a file."""
        body: dict[str, Any] = {"schema": SCHEMA, "model": self.model, "device": self.device}
        body |= {"prefill": asdict(self.prefill), "decode": asdict(self.decode)}
        body |= {"usable": not self.failures, "reasons": list(self.failures)}
        return (json.dumps(body, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def calibrate(points: Points, model: str | None = None, device: str | None = None) -> Calibration:
    """Fit both phases.

    Raises:
        UsageError: there are fewer than 8 prefill or 6 decode passes.
    """
    import numpy as np

    for phase, found, fewest in (
        ("prefill", points.prefill, FEWEST_PREFILL),
        ("decode", points.decode, FEWEST_DECODE),
    ):
        if len(found) < fewest:
            raise UsageError(
                f"A calibration takes at least {fewest} {phase} passes of different sizes; there are "
                f"{len(found)}."
            )
    prefill = np.array([[1.0, one.new, one.pairs, one.held] for one in points.prefill])
    decode = np.array([[1.0, one.batch, one.context] for one in points.decode])
    return Calibration(
        _fit(prefill, np.array([one.seconds for one in points.prefill])),
        _fit(decode, np.array([one.seconds for one in points.decode])),
        model or points.model,
        device or points.device,
    )


def _fit(matrix: Floats, seconds: Floats) -> Fit:
    """A third of the passes is held out, spread over their sizes, never the smallest or the largest."""
    import numpy as np

    order = np.lexsort(matrix.T)
    held = order[np.linspace(1, len(order) - 2, len(order) // 3).round().astype(int)]
    kept = np.setdiff1d(order, held)
    x = nnls(matrix[kept] / seconds[kept, None], np.ones(len(kept)))
    predicted = matrix[held] @ x
    return Fit(
        tuple(float(value) for value in x),
        len(kept),
        len(held),
        float(predicted.sum() / seconds[held].sum() - 1),
        float(np.median(np.abs(predicted / seconds[held] - 1))),
    )


def read_calibration(path: Path) -> Calibration:
    """A calibration from its file.

    Raises:
        UsageError: the file cannot be read, or is none.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot read the calibration {path}: {reason}.") from error
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no calibration; 'radixadvisor calibrate POINTS -o FILE' makes one.")
    try:
        return Calibration(
            _read_fit(body["prefill"], 4), _read_fit(body["decode"], 3), body.get("model"), body.get("device")
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is a damaged calibration: {error}.") from error


def _read_fit(row: Any, size: int) -> Fit:
    coefficients = tuple(float(value) for value in row["coefficients"])
    if len(coefficients) != size or min(coefficients) < 0:
        raise ValueError(f"{size} coefficients of 0 or above are needed, not {row['coefficients']}")
    return Fit(
        coefficients,
        int(row["points"]),
        int(row["held_out"]),
        float(row["sum_error"]),
        float(row["median_error"]),
    )
