"""What a simulation gives: one value per request in columns, and where the time and the pool went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from radixengine.cache import PrefixCache
    from radixengine.scheduler import Step

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

__all__ = ["Occupation", "SimulationResult", "Totals"]


@dataclass(frozen=True, slots=True)
class Occupation:
    """One replica's pool, in tokens: the most that running requests used at once, their use averaged over
    busy time, and what lay cached beside them in the end.
    """

    capacity: int
    peak_in_use: int
    mean_in_use: float
    cached_at_end: int


@dataclass(slots=True)
class Totals:
    """Sums over all steps of all replicas. Seconds of steps that prefill, that decode, and that do both."""

    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    mixed_seconds: float = 0.0
    prefill_steps: int = 0
    decode_steps: int = 0
    prefilled_tokens: int = 0
    decoded_tokens: int = 0
    evicted_tokens: int = 0
    pinned_tokens: int = 0
    makespan: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Columns in input order, tokens and seconds.

    Attributes:
        label: engine, policy and what else tells this run from others.
        prompt_tokens: length of each prompt.
        matched_tokens: prompt tokens served from a cache, ``host_tokens`` of them from a host tier; they and
            ``computed_tokens`` add up to the prompt of every request that was not refused (there: 0, 0).
        written_tokens: what a hosted API bills as written to its cache; None for an engine.
        replica: which one served the request; -1 if none did.
        ttft, e2e, queue: seconds from arrival to the first token, to the last, to admission; nan if refused.
        refused: no pool could serve it; ``reasons`` says why, by index.
        truncated: the pool cut the output short.
        retractions: how often the request was taken out and started anew, ``recomputed_tokens`` for it.
        notes: what has to be said beside the numbers.
        finished: when the last token came, seconds on the engine's clock; nan if refused. None for an API.
    """

    label: str
    prompt_tokens: Ints
    matched_tokens: Ints
    host_tokens: Ints
    computed_tokens: Ints
    replica: Ints
    ttft: Floats
    e2e: Floats
    queue: Floats
    refused: Flags
    truncated: Flags
    retractions: Ints
    recomputed_tokens: Ints
    reasons: dict[int, str]
    totals: Totals
    occupancy: tuple[Occupation, ...] = ()
    notes: tuple[str, ...] = ()
    written_tokens: Ints | None = None
    finished: Floats | None = None

    @property
    def served_tokens(self) -> int:
        """Prompt tokens that needed no computation."""
        return int(self.matched_tokens.sum())

    @property
    def rate(self) -> float:
        """Served tokens as a fraction of all prompt tokens, refused requests included; 0 without any."""
        total = int(self.prompt_tokens.sum())
        return self.served_tokens / total if total else 0.0


@dataclass(slots=True)
class Meter:
    """Watches a scheduler's steps: adds to ``totals`` and follows the pool."""

    cache: PrefixCache
    totals: Totals
    busy: float = field(default=0.0)
    area: float = field(default=0.0)
    peak: int = field(default=0)

    def __call__(self, step: Step) -> None:
        """Take one step into account."""
        totals = self.totals
        if not step.prefill:
            totals.decode_seconds += step.seconds
        elif step.decode:
            totals.mixed_seconds += step.seconds
        else:
            totals.prefill_seconds += step.seconds
        if step.prefill:
            totals.prefill_steps += 1
            totals.prefilled_tokens += sum(tokens for _, _, tokens in step.prefill)
        if step.decode:
            totals.decode_steps += step.passes
            totals.decoded_tokens += step.passes * len(step.decode)
        self.peak = max(self.peak, step.in_use)
        self.busy += step.seconds
        self.area += step.in_use * step.seconds

    def occupation(self) -> Occupation:
        """The pool over all steps seen."""
        now = self.cache.occupancy()
        mean = self.area / self.busy if self.busy else 0.0
        return Occupation(now.total, self.peak, mean, now.evictable)
