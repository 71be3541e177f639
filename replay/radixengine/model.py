"""A Llama-shaped decoder over KV slots (Llama, Qwen2 and Qwen3 by the flags of its shape)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import rms_norm, silu

from radixengine.linear import Linear
from radixengine.shapes import ModelShape

if TYPE_CHECKING:
    from torch import Tensor

    from radixengine.attention.base import Attention
    from radixengine.memory import KVMemory


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of one layer.

    ``qkv`` stacks the query, key and value projections, ``gate_up`` the two inputs of the gated SiLU.
    """

    input_norm: Tensor
    qkv: Linear
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


@dataclass(slots=True, repr=False)
class Decoder:
    """Weights on one device. ``folds``: they are random, so any token id is folded into the vocabulary."""

    shape: ModelShape
    embed: Tensor
    layers: tuple[Layer, ...]
    norm: Tensor
    head: Linear
    folds: bool = False
    _angles: tuple[Tensor, Tensor] | None = field(default=None)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embed.device

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and KV."""
        return self.embed.dtype

    def prepare(self, positions: int) -> None:
        """Make the rotations of that many positions; ``forward`` reads them."""
        if self._angles is not None and len(self._angles[0]) >= positions:
            return
        at = torch.arange(positions, dtype=torch.float32, device=self.device)
        angles = torch.outer(at, rope_frequencies(self.shape).to(self.device)).repeat(1, 2)
        # The first half is rotated against the second: its sine is negative.
        sin = angles.sin()
        sin[:, : self.shape.head_dim // 2].neg_()
        self._angles = angles.cos()[:, None].to(self.dtype), sin[:, None].to(self.dtype)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        slots: Tensor,
        memory: KVMemory,
        attention: Attention,
        plan: Any,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """Logits [wanted rows, vocab] of one pass; the KV of every row is put into its slot.

        Args:
            tokens, positions, slots: int64, one per row.
            plan: what ``attention.plan`` made of the rows' layout.
            wanted: rows whose logits are needed, int64; None for all of them.
        """
        shape, eps = self.shape, self.shape.norm_eps
        assert self._angles is not None
        cos, sin = (table.index_select(0, positions) for table in self._angles)
        rows, dim = len(tokens), shape.head_dim
        rotated = (shape.heads + shape.kv_heads) * dim
        if self.folds:
            tokens = tokens % shape.vocab
        x = self.embed.index_select(0, tokens)
        for number, layer in enumerate(self.layers):
            normed = rms_norm(x, (shape.hidden,), layer.input_norm, eps)
            qkv = layer.qkv(normed)
            qk = qkv[:, :rotated].view(rows, -1, dim)
            if layer.q_norm is not None and layer.k_norm is not None:
                q = rms_norm(qk[:, : shape.heads], (dim,), layer.q_norm, eps)
                k = rms_norm(qk[:, shape.heads :], (dim,), layer.k_norm, eps)
                qk = torch.cat([q, k], 1)
            turned = qk.roll(dim // 2, -1)
            qk = qk.mul_(cos).addcmul_(turned, sin)
            q, k = qk[:, : shape.heads], qk[:, shape.heads :]
            v = qkv[:, rotated:].view(rows, -1, dim)
            memory.store(number, slots, k, v)
            x = x + layer.out(attention.attend(plan, number, q, k, v))
            gate, up = layer.gate_up(rms_norm(x, (shape.hidden,), layer.mlp_norm, eps)).chunk(2, -1)
            x = x + layer.down(silu(gate).mul_(up))
        if wanted is not None:
            x = x.index_select(0, wanted)
        return self.head(rms_norm(x, (shape.hidden,), self.norm, eps))


def rope_frequencies(shape: ModelShape) -> Tensor:
    """Radians per position of each pair of dimensions, float32 [head_dim / 2]."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    plain = 1.0 / shape.rope_theta**exponents
    scaling = shape.rope_scaling
    if scaling is None:
        return plain
    # How often a wave turns within the original context decides: fast ones stay, slow ones are stretched.
    turns = scaling.original_max_position * plain / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    keep = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return plain * (keep + (1 - keep) / scaling.factor)
