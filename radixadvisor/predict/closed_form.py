"""Throughput at saturation without a simulation, and the cards that a load takes.

With f the prefill's share of GPU time without a cache and r the share of prefill *time* (not tokens) that a
cache removes: throughput grows by 1 / (1 - f r), never beyond 1 / (1 - f).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from radixadvisor.predict.executor import Seconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["GpuTime", "closed_form", "decode_batch", "gpus_needed", "throughput_gain"]


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Seconds of GPU time for a whole log: prefill without a cache and with it, decode in full batches."""

    prefill_off: float
    prefill_on: float
    decode: float

    @property
    def prefill_share(self) -> float:
        """f: of GPU time without a cache."""
        return self.prefill_off / (self.prefill_off + self.decode)

    @property
    def time_saved(self) -> float:
        """r: the share of prefill time that the cache removes; negative where it costs."""
        return 1 - self.prefill_on / self.prefill_off

    @property
    def gain(self) -> float:
        """Throughput with the cache over throughput without, at saturation."""
        return throughput_gain(self.prefill_share, self.time_saved)

    @property
    def bound(self) -> float | None:
        """What the gain could be at most; None, no bound, where nothing is decoded."""
        return 1 / (1 - self.prefill_share) if self.decode else None


def throughput_gain(prefill_share: float, time_saved: float) -> float:
    """1 / (1 - f r)."""
    return 1 / (1 - prefill_share * time_saved)


def closed_form(cost: Seconds, cached: Counts, lengths: Counts, outputs: Counts, batch: int) -> GpuTime:
    """GPU time of a log whose requests, in this order, have prompts of ``lengths`` tokens, ``cached`` of
    them, and ``outputs``.

    ``batch`` sequences of the mean context decode at once. Where outputs are shorter than the batch is wide,
    several end in each pass, and as many prompts that begin in their place share a pass.
    """
    import numpy as np

    steps = np.maximum(outputs - 1, 0)
    total = int(steps.sum())
    decode, group = 0.0, batch
    if total:
        context = int((steps * (lengths + (outputs + 1) / 2)).sum() / total)
        decode = total / batch * float(cost.decode_passes([context] * batch, 1)[0])
        group = max(1, min(batch, round(batch * len(lengths) / total)))
    new = np.maximum(lengths - cached, 1)
    return GpuTime(
        float(cost.prefill_each(lengths, np.zeros_like(lengths), group).sum()),
        float(cost.prefill_each(new, lengths - new, group).sum()),
        decode,
    )


def decode_batch(lengths: Counts, outputs: Counts, pool: int, most: int) -> int:
    """How many sequences of the log decode at once at saturation without sharing: at most ``most``, and as
    many as fit a pool of so many tokens at their mean size while they run.
    """
    import numpy as np

    steps = np.maximum(outputs - 1, 1)
    held = float((steps * (lengths + outputs / 2)).sum() / steps.sum())
    return max(1, min(most, int(pool / max(held, 1.0))))


def gpus_needed(rate: float, capacity: float, load: float, cards: int = 1) -> int:
    """Cards for ``rate`` requests per second, if ``cards`` together serve ``capacity`` at saturation and are
    to run at the share ``load`` of it.
    """
    return max(1, ceil(rate / (capacity * load) - 1e-9)) * cards
