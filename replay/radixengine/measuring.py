"""Gathers what an engine run measures, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from radixengine.cache import Occupancy
from radixengine.results import PoolPeaks
from radixengine.runner import Ran
from radixengine.scheduler import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True)
class Measured:
    """Sums and series over the steps so far; see EngineRun for their meaning."""

    peaks: PoolPeaks
    schedule: list[Step] = field(default_factory=list)
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    prefill_tokens: int = 0
    decode_tokens: int = 0
    request_prefill: dict[int, float] = field(default_factory=dict)
    _tokens: dict[int, list[NDArray[Any]]] = field(default_factory=dict)
    _gaps: dict[int, list[NDArray[Any]]] = field(default_factory=dict)
    _times: dict[int, list[NDArray[Any]]] = field(default_factory=dict)

    def add(self, step: Step, ran: Ran, room: Occupancy) -> None:
        """Take in a step, how it was run, and where the pool's tokens were after it."""
        self.schedule.append(step)
        if step.prefill:
            self.prefill_seconds += ran.inside
        else:
            self.decode_seconds += ran.inside
        for rid, _, tokens in step.prefill:
            self.prefill_tokens += tokens
            self.request_prefill[rid] = self.request_prefill.get(rid, 0.0) + ran.inside
        self.decode_tokens += len(step.decode) * step.passes
        times = step.start + step.seconds * (np.arange(step.passes) + 1) / step.passes
        for column, rid in enumerate(ran.sampled):
            self._tokens.setdefault(rid, []).append(ran.tokens[:, column])
            self._gaps.setdefault(rid, []).append(ran.gaps[:, column])
            self._times.setdefault(rid, []).append(times)
        peaks = self.peaks
        self.peaks = PoolPeaks(
            peaks.capacity,
            max(peaks.used, room.total - room.free, step.in_use),
            max(peaks.running, step.in_use),
            max(peaks.evictable, room.evictable),
        )

    def output(self, rid: int, limit: int) -> tuple[bytes, NDArray[Any], NDArray[Any]]:
        """(packed tokens, gaps, times) of a request that wanted ``limit`` tokens: as many of each, also if an
        interrupt came while a step was taken in.
        """
        tokens, gaps, times = (
            np.concatenate([np.empty(0, kind), *series.get(rid, [])])
            for series, kind in ((self._tokens, "i4"), (self._gaps, "f4"), (self._times, "f8"))
        )
        count = min(limit, len(tokens), len(gaps), len(times))
        return tokens[:count].astype("<i4").tobytes(), gaps[:count].astype("f4"), times[:count]
