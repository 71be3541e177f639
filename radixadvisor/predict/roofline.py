"""The roofline of a model on one card or several: FLOPs, bytes and seconds of any forward pass.

With n new tokens behind c cached ones of a sequence, P weights, L layers and b decoding sequences::

    prefill  F = 2 P_linear n + 2 V h + a L (n c + n (n + 1) / 2)
    decode   F = 2 P_active b + a L sum(context)
    bytes    B = w P_touched + kv sum(context + written)
    seconds  t = max(F / (MFU TP peak), B / (MBU TP bandwidth)) + t_comm + t0

A pass may hold chunks of prompts and decoding sequences at once; the weights are read once. Layers with a
window W see ``min(W, position)`` tokens. ``touched`` weights are all of them, but of the routed experts only
those that some token draws. KV heads are split among cards as far as there are any; latents are replicated.
"""

from __future__ import annotations

from collections.abc import Sequence as Values
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, overload

from radixadvisor.catalog import Gpu, Model, require_kv, require_weights
from radixadvisor.errors import UsageError
from radixadvisor.predict.rates import Rates, default_rates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["Roofline", "Work"]

_ACTIVATION_BYTES = 2
_REDUCTIONS = 2
"""All-reduces per layer: behind the attention and behind the MLP."""


class Work(NamedTuple):
    """FLOPs of all cards, bytes that each card reads and writes, bytes that each card sends."""

    flops: float
    bytes: float
    sent: float = 0.0

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes


@dataclass(frozen=True, slots=True)
class Roofline:
    """A model on ``tensor_parallel`` cards.

    ``weights`` and ``kv`` name precisions; ``weights`` None is what the model's publisher ships.

    Raises:
        UnknownName: there is no such precision.
        UsageError: fewer than one card, or more than there are heads.
    """

    model: Model
    gpu: Gpu
    rates: Rates
    tensor_parallel: int = 1
    weights: str | None = None
    kv: str = "bf16"

    def __post_init__(self) -> None:
        require_kv(self.kv)
        if self.weights is not None:
            require_weights(self.weights)
        if not 1 <= self.tensor_parallel <= self.model.shape.heads:
            raise UsageError(
                f"{self.model.name} is split over 1 to {self.model.shape.heads} cards, not "
                f"{self.tensor_parallel}."
            )

    @classmethod
    def of(cls, model: Model, gpu: Gpu, rates: Rates | None = None) -> Roofline:
        """One card, with assumed rates unless others are given."""
        return cls(model, gpu, rates or default_rates())

    def at(self, rates: Rates) -> Roofline:
        """The same at other rates."""
        return replace(self, rates=rates)

    @property
    def ridge(self) -> float:
        """FLOPs per byte above which the peak bounds a pass, below which the bandwidth does."""
        return self._compute / self._bandwidth

    @property
    def kv_bytes(self) -> float:
        """Bytes of KV per token on each card."""
        return self.model.kv_bytes(self.kv) * self.model.shape.kv_share(self.tensor_parallel)

    def work(self, new: Values[int], cached: Values[int], logits: int, contexts: Values[int] = ()) -> Work:
        """Of one pass: chunks of ``new`` tokens behind ``cached`` ones, ``logits`` of which give a token, and
        sequences that decode one token each, which then is the last of ``contexts`` tokens.
        """
        shape = self.model.shape
        tokens, local = sum(new), shape.local_layers
        pairs = sum([n * c + n * (n + 1) // 2 for n, c in zip(new, cached, strict=True)])
        seen = sum(contexts)
        held = tokens + sum(cached) + seen
        if local:
            window = shape.window
            near = sum([_windowed(n, c, window) for n, c in zip(new, cached, strict=True)])
            near_seen = sum([min(window, context) for context in contexts])
            near_held = tokens + sum([min(window, c) for c in cached]) + near_seen
        else:
            near = near_seen = near_held = 0
        full = shape.layers - local
        flops = 2.0 * (
            shape.linear_active * (tokens + len(contexts)) + shape.head_params * (logits + len(contexts))
        )
        flops += shape.pair_flops * (full * pairs + local * near)
        flops += shape.decode_pair_flops * (full * seen + local * near_seen)
        kv = self.kv_bytes / shape.layers * (full * held + local * near_held)
        return self._work(flops, kv, tokens + len(contexts))

    def seconds(self, work: Work) -> float:
        """One pass."""
        return (
            max(work.flops / self._compute, work.bytes / self._bandwidth)
            + work.sent / self._link
            + self.rates.step_overhead
        )

    def pass_seconds(
        self, new: Values[int], cached: Values[int], logits: int, contexts: Values[int] = ()
    ) -> float:
        """One pass over what ``work`` describes."""
        return self.seconds(self.work(new, cached, logits, contexts))

    def prefill_seconds(self, new: int, cached: int = 0) -> float:
        """A pass over one prompt of ``cached + new`` tokens."""
        return self.pass_seconds((new,), (cached,), 1)

    def prefill_each(self, new: Counts, cached: Counts, group: int = 1) -> Floats:
        """The same for many prompts, so many neighbours in each pass."""
        import numpy as np

        shape = self.model.shape
        full, local = shape.layers - shape.local_layers, shape.local_layers
        n, c = new.astype(np.float64), cached.astype(np.float64)
        pairs = full * (n * c + n * (n + 1) / 2)
        held = full * (n + c)
        if local:
            growing = np.clip(shape.window - c, 0, n)
            pairs += local * (growing * c + growing * (growing + 1) / 2 + (n - growing) * shape.window)
            held += local * (n + np.minimum(c, shape.window))
        starts = np.arange(0, len(n), group)
        tokens, pairs, held = (np.add.reduceat(values, starts) for values in (n, pairs, held))
        logits = np.minimum(group, len(n) - starts)
        flops = 2.0 * (shape.linear_active * tokens + shape.head_params * logits) + shape.pair_flops * pairs
        missed = 1 - shape.experts_per_token / shape.experts if shape.moe_layers else 1.0
        touched = self._weights(1 - missed**tokens)
        bytes_ = touched + self.kv_bytes / shape.layers * held
        seconds: Floats = np.maximum(flops / self._compute, bytes_ / self._bandwidth)
        return seconds + self._sent(1) * tokens / self._link + self.rates.step_overhead

    def decode_passes(self, contexts: Values[int], passes: int) -> Floats:
        """Seconds of each of ``passes`` passes that decode the same sequences, whose contexts hold so many
        tokens at the first one, the decoded token included.
        """
        import numpy as np

        shape, batch = self.model.shape, len(contexts)
        full, local = shape.layers - shape.local_layers, shape.local_layers
        later = np.arange(passes, dtype=np.float64)
        seen = full * (float(sum(contexts)) + batch * later)
        if local:
            seen += local * _near(contexts, later, shape.window)
        flops = 2.0 * shape.active * batch + shape.decode_pair_flops * seen
        touched = self._weights(1 - shape.missed_share(batch))
        bytes_ = touched + self.kv_bytes / shape.layers * seen
        seconds: Floats = np.maximum(flops / self._compute, bytes_ / self._bandwidth)
        return seconds + self._sent(1) * batch / self._link + self.rates.step_overhead

    def load_seconds(self) -> float:
        """Seconds to load a token's KV back from the host, all cards at once."""
        return self.kv_bytes / (self.rates.pcie_efficiency * self.gpu.pcie_gbps * 1e9)

    def loading_pays(self, cached: int, computing: int = 1) -> bool:
        """Whether loading a token's KV back from the host is faster than computing it behind ``cached``
        others, as one of ``computing`` tokens (kv / (eta PCIe) < seconds to compute it).
        """
        whole = self.prefill_seconds(computing, cached) - self.rates.step_overhead
        return self.load_seconds() < whole / computing

    @property
    def _compute(self) -> float:
        precision = self.weights or self.model.weights
        return self.rates.mfu * self.tensor_parallel * self.gpu.flops(precision)

    @property
    def _bandwidth(self) -> float:
        return self.rates.mbu * self.gpu.bandwidth_gbps * 1e9

    @property
    def _link(self) -> float:
        return self.rates.link_efficiency * self.gpu.link_gbps * 1e9

    def _work(self, flops: float, kv: float, tokens: int) -> Work:
        weights = self._weights(1 - self.model.shape.missed_share(tokens))
        return Work(flops, weights + kv, self._sent(tokens))

    def _sent(self, tokens: float) -> float:
        """Bytes that each card sends, twice (n - 1) / n of the activations for each reduction."""
        shape, cards = self.model.shape, self.tensor_parallel
        activations = tokens * shape.hidden * _ACTIVATION_BYTES
        return _REDUCTIONS * shape.layers * 2 * (cards - 1) / cards * activations

    @overload
    def _weights(self, drawn: float) -> float: ...
    @overload
    def _weights(self, drawn: Floats) -> Floats: ...
    def _weights(self, drawn: float | Floats) -> float | Floats:
        """Bytes of weights that each card reads, if that share of the routed experts is drawn."""
        rest, experts = self.model.bytes_per_weight(self.weights)
        shape = self.model.shape
        return (shape.dense_params * rest + shape.all_experts_params * experts * drawn) / self.tensor_parallel


def _windowed(new: int, cached: int, window: int) -> int:
    """Sum of min(window, position) over the positions cached + 1 .. cached + new."""
    growing = min(max(window - cached, 0), new)
    return growing * cached + growing * (growing + 1) // 2 + (new - growing) * window


def _near(contexts: Values[int], later: Floats, window: int) -> Floats:
    """Sum over sequences of min(window, context + i) for each i of ``later``."""
    import numpy as np

    held = np.asarray(contexts, np.float64)
    beyond = held >= window
    short = held[~beyond]
    total: Floats = np.full(len(later), float(window * int(beyond.sum())))
    if len(short):
        total += np.minimum(short[:, None] + later, window).sum(axis=0)
    return total
