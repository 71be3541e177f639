"""The dimensions of a decoder, by value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """RoPE stretched by wavelength, as Llama 3.1 and later do (``rope_type`` ``llama3``).

    Wavelengths above ``original_max_position / low_freq_factor`` are stretched by ``factor``, those below
    ``original_max_position / high_freq_factor`` stay, those between are blended.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position: int

    def __post_init__(self) -> None:
        """Raises ValueError if there is nothing to blend between the two factors."""
        if self.low_freq_factor >= self.high_freq_factor:
            raise ValueError(f"low_freq_factor {self.low_freq_factor} is not below {self.high_freq_factor}")


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A Llama-shaped decoder: RMSNorm, RoPE, grouped-query attention, gated SiLU.

    ``qkv_bias``: the query, key and value projections have one (Qwen2). ``qk_norm``: queries and keys are
    normalised per head before RoPE (Qwen3). ``tied``: the head shares the embedding's weights.

    Raises:
        ValueError: a dimension is below 1, the heads are no multiple of the KV heads, ``head_dim`` is odd, or
            the vocabulary is a single token.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    rope_theta: float = 10_000.0
    rope_scaling: Llama3Scaling | None = None
    norm_eps: float = 1e-5
    qkv_bias: bool = False
    qk_norm: bool = False
    tied: bool = False
    max_position: int = 131_072

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "max_position")
        for name in sizes:
            if getattr(self, name) < 1:
                raise ValueError(f"{self.name}: {name} must be at least 1, got {getattr(self, name)}")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.name}: {self.heads} heads are no multiple of {self.kv_heads} KV heads")
        if self.head_dim % 2:
            raise ValueError(f"{self.name}: RoPE needs an even head_dim, got {self.head_dim}")
        if self.vocab < 2:
            raise ValueError(f"{self.name}: a vocabulary of one token leaves nothing to choose")

    @property
    def linear_params(self) -> int:
        """Weights of the projections that every token passes, embedding and head excluded."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    def prefill_flops(self, new: int, cached: int = 0) -> float:
        """FLOPs to compute ``new`` tokens behind ``cached`` ones, with the logits of the last token.

        2 per weight and token for the projections, 2 per weight of the head, and ``4 * heads * head_dim`` per
        layer for each pair of a query with a key it sees: ``new * cached + new * (new + 1) / 2`` pairs.
        """
        pairs = new * cached + new * (new + 1) / 2
        linear = 2.0 * self.linear_params * new + 2.0 * self.vocab * self.hidden
        return linear + 4.0 * self.heads * self.head_dim * self.layers * pairs

    def kv_bytes(self, itemsize: int) -> int:
        """Bytes of KV per token at ``itemsize`` bytes a number."""
        return 2 * self.layers * self.kv_heads * self.head_dim * itemsize


TINY = ModelShape(
    name="tiny",
    layers=2,
    hidden=256,
    heads=4,
    kv_heads=2,
    head_dim=64,
    intermediate=768,
    vocab=4096,
    tied=True,
)
