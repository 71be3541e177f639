"""What a prediction says, as plain data. Rates are shares, times are seconds unless a name says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from radixadvisor.predict.clock import Saturation, Times

__all__ = ["Interval", "Outlook", "Point", "Prediction", "Reference"]


@dataclass(frozen=True, slots=True)
class Interval:
    """From the least to the most that is plausible."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Point:
    """Where a forward pass stands on the roofline: FLOPs per byte, the ridge beyond which the peak bounds it,
    and the seconds of the pass.
    """

    intensity: float
    ridge: float
    seconds: float

    @property
    def bound(self) -> str:
        """What limits the pass."""
        return "compute" if self.intensity >= self.ridge else "memory"


@dataclass(frozen=True, slots=True)
class Outlook:
    """One engine on this workload.

    ``rate``: the share of prompt tokens served from its cache; ``time_saved``: the share of prefill GPU time
    that it removes; ``gain``: throughput at saturation over that of no cache, by the closed form;
    ``saturation``, ``at_load`` (the log's own load, or the one asked for) and ``at_shares`` (of its own
    capacity) are simulated, None or empty without a card; ``gpus``: cards for the load.
    """

    name: str
    rate: float
    time_saved: float
    gain: float
    saturation: Saturation | None = None
    at_load: Times | None = None
    at_shares: tuple[Times, ...] = ()
    gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A published figure and this workload's own of its kind, None if there is none. ``unit`` is ``ratio`` or
    ``share``.
    """

    name: str
    value: float
    unit: str
    text: str
    ours: float | None
    source: str
    checked: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the workload costs without a cache, with each engine's, and after the prescriptions.

    Attributes:
        model, gpu: the target; None where a ``stand_in`` takes its place.
        stand_in: (model, card) that ratios were computed with.
        cards: how many hold the model together; ``weights`` and ``kv`` name precisions.
        pool: tokens of KV beside the weights; None without a card.
        baseline: ``none`` or ``vllm``.
        on: the engine that is set against it.
        prefill_share: f, the prefill's share of GPU time without a cache.
        bound: throughput ratio against no cache that nothing can exceed; None for no bound.
        time_saved, ratio: of ``on`` against the baseline: prefill GPU time, throughput at saturation.
            ``closed`` is the ratio without a simulation.
        interval: of ``ratio``; ``saved_interval``: of ``time_saved``; ``times_factor``: of any time, as a
            multiple of what is told.
        load: requests per second that times and cards are for; None if unknown.
        outlooks: by engine; ``fixed`` is sglang after the prescriptions, ``fixed_vllm`` vllm.
        points: on the roofline: prefill and decode without a cache (``off``) and with it (``on``).
        host: seconds to load a token's KV back from the host, and to compute it instead.
        calibration: what the seconds were measured on; None if they follow from assumed rates.
        references: published figures.
        missing: why a field is None.
    """

    model: str | None
    gpu: str | None
    stand_in: tuple[str, str]
    cards: int
    weights: str
    kv: str
    pool: int | None
    baseline: str
    on: str
    prefill_share: float
    bound: float | None
    time_saved: float
    ratio: float
    closed: float
    interval: Interval
    saved_interval: Interval
    times_factor: Interval
    load: float | None
    outlooks: dict[str, Outlook]
    points: dict[str, Point]
    host: tuple[float, float] | None
    calibration: str | None
    requests: int
    references: tuple[Reference, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def off_outlook(self) -> Outlook:
        """The baseline's."""
        return self.outlooks[self.baseline]

    @property
    def on_outlook(self) -> Outlook:
        """That of the engine set against it."""
        return self.outlooks[self.on]

    @property
    def loading_pays(self) -> bool | None:
        """Whether a host tier is faster than computing again; None without a card."""
        return None if self.host is None else self.host[0] < self.host[1]
