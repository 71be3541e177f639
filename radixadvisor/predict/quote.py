"""What a model on a card costs in itself: KV of a prefix, room for it, prompts of some lengths with hits."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.catalog import Model, pool_tokens
from radixadvisor.errors import UsageError
from radixadvisor.predict.roofline import Roofline

__all__ = ["LENGTHS", "Pin", "PromptCost", "pin_of", "pool_beside", "prompt_costs"]

LENGTHS = (1_000, 8_000, 32_000, 128_000)


@dataclass(frozen=True, slots=True)
class Pin:
    """A prefix of ``tokens`` tokens kept once, beside ``sequences`` that each hold their own copy; bytes."""

    tokens: int
    sequences: int
    pinned: int
    copies: int


@dataclass(frozen=True, slots=True)
class PromptCost:
    """A prompt computed alone: seconds without a hit and with the share of it cached, and how many times
    faster that is; ``attention`` is its share of the FLOPs without a hit.
    """

    tokens: int
    seconds: float
    hit_seconds: float
    attention: float

    @property
    def speedup(self) -> float:
        """Without over with."""
        return self.seconds / self.hit_seconds


def pin_of(model: Model, kv: str, tokens: int, sequences: int) -> Pin:
    """Bytes of KV of a prefix, once and in copies."""
    each = tokens * model.kv_bytes(kv)
    return Pin(tokens, sequences, each, each * sequences)


def prompt_costs(roofline: Roofline, hit_rate: float, lengths: tuple[int, ...] = LENGTHS) -> list[PromptCost]:
    """Prompts of some lengths, ``hit_rate`` of each from the cache.

    Raises:
        UsageError: the rate is no share, or a length is below 2.
    """
    if not 0 <= hit_rate < 1:
        raise UsageError(f"A hit rate is a share: 0 or above and below 1, not {hit_rate:g}.")
    if min(lengths) < 2:
        raise UsageError("A prompt has at least 2 tokens.")
    found = []
    for tokens in lengths:
        cached = min(int(tokens * hit_rate), tokens - 1)
        whole = roofline.work((tokens,), (0,), 1).flops
        weights = 2.0 * (roofline.model.shape.linear_active * tokens + roofline.model.shape.head_params)
        found.append(
            PromptCost(
                tokens,
                roofline.prefill_seconds(tokens),
                roofline.prefill_seconds(tokens - cached, cached),
                1 - weights / whole,
            )
        )
    return found


def pool_beside(roofline: Roofline) -> int | None:
    """Tokens of KV beside the weights; None if those do not fit."""
    try:
        return pool_tokens(
            roofline.model,
            roofline.gpu,
            kv_dtype=roofline.kv,
            weights=roofline.weights,
            tensor_parallel=roofline.tensor_parallel,
        )
    except UsageError:
        return None
