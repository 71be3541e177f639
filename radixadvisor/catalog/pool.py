"""Room for KV: what the weights leave of a card, and what a tensor-parallel group of cards holds."""

from __future__ import annotations

from radixadvisor.catalog.gpus import Gpu
from radixadvisor.catalog.models import Model
from radixadvisor.errors import UsageError

__all__ = ["MEMORY_FRACTION", "pool_tokens"]

MEMORY_FRACTION = 0.88
"""SGLang's mem_fraction_static: the share of a card that weights and KV may take together."""


def pool_tokens(
    target: Model,
    card: Gpu,
    *,
    kv_dtype: str = "bf16",
    weights: str | None = None,
    memory_fraction: float = MEMORY_FRACTION,
    tensor_parallel: int = 1,
) -> int:
    """Tokens of KV that each of ``tensor_parallel`` cards has room for beside its share of the weights.

    pool = (memory x fraction - weights / cards) / (KV bytes per token x share of a card); heads of KV are
    split among cards as far as there are any, latents are replicated.

    Raises:
        UsageError: the weights alone do not fit.
    """
    room = card.memory_gib * 2**30 * memory_fraction - target.weight_bytes(weights) / tensor_parallel
    tokens = int(room // (target.kv_bytes(kv_dtype) * target.shape.kv_share(tensor_parallel)))
    if tokens < 1:
        need = target.weight_bytes(weights) / 2**30
        cards = f"{tensor_parallel} x {card.name}" if tensor_parallel > 1 else card.name
        held = f"{card.memory_gib * tensor_parallel:.0f}"
        raise UsageError(
            f"{target.name} needs {need:.0f} GiB for its weights in {weights or target.weights}; {cards} has "
            f"{held}. Name a larger card, more of them with --tp N, or give the pool with --capacity TOKENS."
        )
    return tokens
