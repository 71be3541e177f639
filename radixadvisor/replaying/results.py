"""What a replay measured, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from radixadvisor.predict.points import NO_POINTS, Points

__all__ = [
    "CONFIRMED",
    "REFUTED",
    "UNDECIDED",
    "Agreement",
    "Claim",
    "Difference",
    "OrderInfo",
    "PoolUse",
    "Replay",
    "RunResult",
    "Spread",
    "Times",
]

CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"


@dataclass(frozen=True, slots=True)
class Spread:
    """Quantiles over ``count`` values, in seconds."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of one repeat: from start to end, in passes that computed prompt tokens, in all others."""

    seconds: float
    prefill: float
    decode: float


@dataclass(frozen=True, slots=True)
class PoolUse:
    """The KV pool in tokens. ``running`` and ``evictable`` are the most that running requests held, and that
    was cached beside them, at the end of a step; ``loaded`` came back from the host tier.
    """

    capacity: int
    used: int
    running: int
    evictable: int
    evicted: int
    loaded: int
    retractions: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a request's greedy tokens part from those of the run without a cache. ``gap`` is the larger of
    the two runs' distances between the best two logits there.
    """

    rid: int
    position: int
    without_cache: int
    with_cache: int
    gap: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Greedy tokens with the cache on against those with it off. ``differences`` hold one entry per request
    that differs; those with a gap of at most ``tolerance`` are ties.
    """

    compared: int
    tolerance: float
    differences: tuple[Difference, ...]

    @property
    def failures(self) -> tuple[Difference, ...]:
        """The differences that no tie explains."""
        return tuple(found for found in self.differences if not found.gap <= self.tolerance)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One setting on one order of the prompts.

    Tokens are the model's ids: ``hit_tokens`` of ``prompt_tokens`` came from the cache, ``host_tokens`` of
    them from the host tier; ``computed_tokens`` went through the model in prefill, ``recomputed_tokens`` of
    them once more after a retraction. ``flops`` is what the computed prompt tokens cost by formula,
    ``predicted_flops`` the same for the hits expected beforehand.

    ``ttft``: seconds to the first token by ``all``, ``hit`` (half of the prompt or more came from the cache)
    and ``miss``; None where no request is of that kind. ``latency`` is the time between tokens. Both are of
    the repeat with the median prefill.

    ``predicted_tokens`` were expected before the run, ``recorded_tokens`` are what the simulation gives with
    the outputs and the schedule of the run; ``deviating`` counts the requests whose hits differ from that,
    ``unrecorded`` says why there is none. ``points`` are the passes of the repeat with the median prefill.
    """

    order: str
    policy: str
    cache: bool
    requests: int
    refused: Mapping[str, int]
    truncated: int
    prompt_tokens: int
    hit_tokens: int
    host_tokens: int
    computed_tokens: int
    recomputed_tokens: int
    output_tokens: int
    flops: float
    predicted_flops: float
    times: tuple[Times, ...]
    ttft: Mapping[str, Spread | None]
    latency: Spread | None
    pool: PoolUse
    predicted_tokens: int
    recorded_tokens: int | None
    deviating: int | None
    unrecorded: str
    agreement: Agreement | None
    complete: bool
    points: Points = NO_POINTS

    @property
    def label(self) -> str:
        """What tells this run from the others: the order of the prompts, and the policy or ``off``."""
        return f"{self.order} {self.policy}"

    @property
    def rate(self) -> float:
        """Hit tokens as a share of the prompt tokens."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def seconds(self) -> float:
        """Median over the repeats, start to end."""
        return median_low([times.seconds for times in self.times])

    @property
    def prefill_seconds(self) -> float:
        """Median over the repeats."""
        return median_low([times.prefill for times in self.times])


@dataclass(frozen=True, slots=True)
class OrderInfo:
    """One form of the log. ``distinct_tokens`` are those of its prefix tree; ``edits`` the fixes in it."""

    name: str
    prompt_tokens: int
    distinct_tokens: int
    edits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement on two runs, with what was expected and what was measured of one quantity.

    ``outcome`` is whether both lie on the same side of ``threshold``, ``undecided`` for the ``reason`` given.
    """

    name: str
    text: str
    runs: tuple[str, str]
    quantity: str
    predicted: float
    measured: float
    threshold: float
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """All runs on one log. ``setup`` holds how they were made, ``not_evaluated`` reasons by field."""

    files: tuple[str, ...]
    dialect: str
    requests: int
    skipped: int
    ids: Mapping[int, str]
    setup: Mapping[str, Any]
    orders: tuple[OrderInfo, ...]
    runs: tuple[RunResult, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    not_evaluated: Mapping[str, str]
    complete: bool

    def run(self, order: str, policy: str | None = None) -> RunResult | None:
        """The run of an order with a policy, None for the first one with a cache; None if it was not made."""
        for run in self.runs:
            if run.order == order and (run.policy == policy if policy is not None else run.cache):
                return run
        return None

    def baseline(self, run: RunResult) -> RunResult | None:
        """The run on the same order without a cache."""
        return next((other for other in self.runs if other.order == run.order and not other.cache), None)

    @property
    def failed(self) -> bool:
        """Whether greedy tokens differ beyond ties."""
        return any(run.agreement is not None and run.agreement.failures for run in self.runs)

    @property
    def refuted(self) -> bool:
        """Whether a claim was refuted."""
        return any(claim.outcome == REFUTED for claim in self.claims)
