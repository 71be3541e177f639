"""What a prediction is for: a model on cards, or a calibration; and what stands in where neither is named."""

from __future__ import annotations

from dataclasses import dataclass, replace

from radixadvisor.catalog import MEMORY_FRACTION, Gpu, Model, gpu, gpus, model, pool_tokens
from radixadvisor.errors import UsageError
from radixadvisor.predict.calibrate import Calibration
from radixadvisor.predict.executor import Seconds
from radixadvisor.predict.rates import Rates, default_rates, rate_corners
from radixadvisor.predict.roofline import Roofline

__all__ = ["STAND_IN_GPU", "STAND_IN_MODEL", "Target"]

STAND_IN_MODEL, STAND_IN_GPU = "llama-3.1-8b", "H100-SXM-80GB"

_MOST_CARDS = 16


@dataclass(frozen=True, slots=True)
class Target:
    """A model on ``cards`` of a kind; None for what is not known.

    ``weights`` None is what the publisher ships; ``pool_tokens`` the KV pool of a replica, None for what the
    weights leave; ``rates`` are assumed unless a ``calibration`` gives seconds.
    """

    model: Model | None = None
    gpu: Gpu | None = None
    cards: int | None = None
    weights: str | None = None
    kv: str = "bf16"
    pool_tokens: int | None = None
    memory_fraction: float = MEMORY_FRACTION
    rates: Rates | None = None
    calibration: Calibration | None = None

    @property
    def simulated(self) -> bool:
        """Whether seconds mean anything: a card was named, or passes were measured."""
        return self.gpu is not None or self.calibration is not None

    @property
    def model_name(self) -> str | None:
        """The model's name, also if only its seconds are known."""
        if self.model is not None:
            return self.model.name
        return None if self.calibration is None else self.calibration.model

    @property
    def on_roofline(self) -> bool:
        """Whether a roofline describes the target; stand-ins do not stand for what was measured."""
        return self.calibration is None or (self.model is not None and self.gpu is not None)

    @property
    def objection(self) -> str | None:
        """Why the calibration must not be used for this model and card, None if it may."""
        found = self.calibration
        if found is None:
            return None
        if found.failures:
            return "the calibration does not hold on passes it has not seen: " + "; ".join(found.failures)
        if self.model is not None and found.model is not None and not _same(found.model, self.model.name):
            return f"the calibration was measured on {found.model}, the target is {self.model.name}"
        if self.gpu is not None and found.device is not None and not _same(found.device, self.gpu.name):
            return f"the calibration was measured on {found.device}, the target is {self.gpu.name}"
        return None

    def roofline(self) -> Roofline:
        """The roofline of the target, with stand-ins for what is not known.

        Raises:
            UsageError: the named model does not fit the named cards.
        """
        shape = self.model or model(STAND_IN_MODEL)
        card = self.gpu or gpu(STAND_IN_GPU)
        rates = self.rates or default_rates()
        if self.cards is not None:
            return Roofline(shape, card, rates, self.cards, self.weights, self.kv)
        return Roofline(shape, card, rates, self._fitting(shape, card), self.weights, self.kv)

    def pool(self, roofline: Roofline) -> int | None:
        """Tokens of KV of a replica: as given, or beside the weights; None without a card.

        Raises:
            UsageError: the weights do not fit.
        """
        if self.pool_tokens is not None or self.gpu is None:
            return self.pool_tokens
        return pool_tokens(
            roofline.model,
            roofline.gpu,
            kv_dtype=self.kv,
            weights=self.weights,
            memory_fraction=self.memory_fraction,
            tensor_parallel=roofline.tensor_parallel,
        )

    def cost(self) -> Seconds:
        """Seconds of a pass: measured if there is a calibration."""
        return self.calibration or self.roofline()

    def plausible(self) -> list[Seconds]:
        """The costs whose results span what is plausible where nothing was measured: rates at both ends of
        what engines reach, and, if no card is named, cards from the slowest to the fastest.
        """
        base = self.roofline()
        cards = [base.gpu] if self.gpu is not None else [base.gpu, *_extremes()]
        return [replace(base, gpu=card, rates=rates) for card in cards for rates in rate_corners()]

    def _fitting(self, shape: Model, card: Gpu) -> int:
        """One card if it is named, else as many as the weights need."""
        cards = 1
        while self.gpu is None and cards < min(_MOST_CARDS, shape.shape.heads):
            try:
                pool_tokens(shape, card, kv_dtype=self.kv, weights=self.weights, tensor_parallel=cards)
            except UsageError:
                cards *= 2
                continue
            break
        return cards


def _extremes() -> list[Gpu]:
    """The cards with the least and the most FLOPs per byte of bandwidth."""
    ranked = sorted(gpus(), key=lambda card: card.bf16_tflops / card.bandwidth_gbps)
    return [ranked[0], ranked[-1]]


def _same(one: str, other: str) -> bool:
    a, b = one.lower(), other.lower()
    return a == b or a.startswith(b) or b.startswith(a)
