"""What a decoder consists of, and the counts that follow: weights, KV values, FLOPs of a query-key pair."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions of a decoder. Norms and biases are left out: below 0.1 % of the weights.

    Attributes:
        layers, hidden, heads, kv_heads, head_dim, vocab: as everywhere.
        intermediate: width of a dense MLP; ``gated`` ones have three matrices, others two.
        tied: the head shares the embedding's weights.
        moe_layers: layers with experts; each token passes ``experts_per_token`` of ``experts`` MLPs of width
            ``moe_intermediate`` and a shared one of ``shared_intermediate``.
        kv_rank, rope_dim, nope_dim, value_dim, q_rank: multi-head latent attention where ``kv_rank`` is
            above 0: ranks of the latents (``q_rank`` 0: queries are projected directly) and dimensions per
            head. KV is then one latent of ``kv_rank + rope_dim`` numbers per layer.
        window: local layers attend to so many tokens, the query's own included; 0 if there are none.
        local_layers: how many layers do.

    Raises:
        ValueError: a dimension cannot be.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool = False
    gated: bool = True
    moe_layers: int = 0
    experts: int = 0
    experts_per_token: int = 0
    moe_intermediate: int = 0
    shared_intermediate: int = 0
    kv_rank: int = 0
    rope_dim: int = 0
    nope_dim: int = 0
    value_dim: int = 0
    q_rank: int = 0
    window: int = 0
    local_layers: int = 0

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("intermediate", "moe_intermediate", "shared_intermediate", "window", "kv_rank"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, not {getattr(self, name)}")
        if not self.kv_rank and self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads are no multiple of {self.kv_heads} KV heads")
        if not 0 <= self.moe_layers <= self.layers or not 0 <= self.local_layers <= self.layers:
            raise ValueError(f"more layers with experts or windows than the {self.layers} there are")
        if self.moe_layers and not 0 < self.experts_per_token <= self.experts:
            raise ValueError(f"{self.experts_per_token} of {self.experts} experts cannot be chosen")
        if self.local_layers and not self.window:
            raise ValueError("local layers need a window")

    @property
    def attention_params(self) -> int:
        """Weights of one layer's projections."""
        if not self.kv_rank:
            return self.hidden * self.head_dim * 2 * (self.heads + self.kv_heads)
        keys = self.nope_dim + self.rope_dim
        queries = (
            self.q_rank * (self.hidden + self.heads * keys)
            if self.q_rank
            else self.hidden * self.heads * keys
        )
        latent = self.hidden * (self.kv_rank + self.rope_dim)
        expanded = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        return queries + latent + expanded + self.heads * self.value_dim * self.hidden

    @property
    def expert_params(self) -> int:
        """Weights of one expert."""
        return self._mlp(self.moe_intermediate)

    @property
    def all_experts_params(self) -> int:
        """Weights of all routed experts of all layers."""
        return self.moe_layers * self.experts * self.expert_params

    @property
    def linear_active(self) -> int:
        """Weights that one token passes, embedding and head excluded."""
        return self._always + self.moe_layers * self.experts_per_token * self.expert_params

    @property
    def head_params(self) -> int:
        """Weights of the output head, or of the embedding."""
        return self.vocab * self.hidden

    @property
    def active(self) -> int:
        """Weights that one token passes, head included: 2 FLOPs each."""
        return self.linear_active + self.head_params

    @property
    def dense_params(self) -> int:
        """All weights but the routed experts', embedding and head included."""
        return self._always + self.head_params * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        """All weights."""
        return self.dense_params + self.all_experts_params

    @property
    def kv_values(self) -> int:
        """Numbers stored per token and layer."""
        if self.kv_rank:
            return self.kv_rank + self.rope_dim
        return 2 * self.kv_heads * self.head_dim

    @property
    def pair_flops(self) -> int:
        """FLOPs per layer for one query token and one key token that it sees, all heads.

        Scores and weighted sum take 2 per number each. GQA does not reduce it; latent attention is expanded
        for prefill.
        """
        if self.kv_rank:
            return 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)
        return 4 * self.heads * self.head_dim

    @property
    def decode_pair_flops(self) -> int:
        """The same for a decoding sequence, where latent attention works on the latents themselves."""
        if self.kv_rank:
            return 2 * self.heads * (2 * self.kv_rank + self.rope_dim)
        return self.pair_flops

    def missed_share(self, tokens: int) -> float:
        """The share of the routed experts that none of so many tokens draws, if each draws its own at random:
        ``(1 - k / experts) ** tokens``; 1 where there are no experts.
        """
        return (1 - self.experts_per_token / self.experts) ** tokens if self.moe_layers else 1.0

    def kv_share(self, tensor_parallel: int) -> float:
        """The share of a token's KV that each of so many GPUs holds: KV heads are split as far as there are
        any, latents are replicated.
        """
        return 1.0 if self.kv_rank else max(1 / tensor_parallel, 1 / self.kv_heads)

    @property
    def _always(self) -> int:
        """Linear weights outside the routed experts."""
        dense = (self.layers - self.moe_layers) * self._mlp(self.intermediate)
        routed = self.moe_layers * (self.hidden * self.experts + self._mlp(self.shared_intermediate))
        return self.layers * self.attention_params + dense + routed

    def _mlp(self, width: int) -> int:
        return (3 if self.gated else 2) * self.hidden * width
