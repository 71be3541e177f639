"""The reference backend, for any device: gather the slots, then torch's scaled dot-product attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from torch import Tensor

    from radixengine.attention.base import Layout
    from radixengine.memory import KVMemory


class _Plan(NamedTuple):
    """Per extend: (rows, slots of all its positions, mask [rows, positions]); for all decodes together: slots
    [sequences, longest], padded with the dummy slot, and which of them are real.
    """

    extends: list[tuple[int, Tensor, Tensor]]
    slots: Tensor | None
    real: Tensor | None


class SdpaAttention:
    """Extends one by one with an explicit causal mask, decodes in one padded batch."""

    name = "sdpa"

    def __init__(self, memory: KVMemory) -> None:
        self._memory = memory

    def plan(self, layout: Layout) -> _Plan:
        """Slots and masks on the device."""
        memory, at = self._memory, 0
        extends: list[tuple[int, Tensor, Tensor]] = []
        for tokens, context in layout.extends:
            slots = np.concatenate([context, layout.slots[at : at + tokens]])
            mask = torch.ones(tokens, len(slots), dtype=torch.bool, device=memory.device)
            extends.append((tokens, memory.index(slots), mask.tril(len(context))))
            at += tokens
        if not layout.decodes:
            return _Plan(extends, None, None)
        lengths = np.array([len(slots) for slots in layout.decodes])
        real = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(real.shape, memory.dummy, dtype=np.int32)
        padded[real] = np.concatenate(layout.decodes)
        return _Plan(extends, memory.index(padded), torch.from_numpy(real).to(memory.device))

    def attend(self, plan: _Plan, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See the protocol."""
        keys, values = self._memory.keys[layer], self._memory.values[layer]
        rows, heads, dim = q.shape
        out = torch.empty(rows, heads * dim, dtype=q.dtype, device=q.device)
        at = 0
        for tokens, slots, mask in plan.extends:
            part = scaled_dot_product_attention(
                q[None, at : at + tokens].transpose(1, 2),
                keys[slots][None].transpose(1, 2),
                values[slots][None].transpose(1, 2),
                attn_mask=mask,
                enable_gqa=True,
            )
            out[at : at + tokens] = part[0].transpose(0, 1).reshape(tokens, -1)
            at += tokens
        if plan.slots is not None and plan.real is not None:
            # The query heads of a KV head see the same keys, so they are its rows.
            part = scaled_dot_product_attention(
                q[at:].view(rows - at, k.shape[1], -1, dim),
                keys[plan.slots].transpose(1, 2),
                values[plan.slots].transpose(1, 2),
                attn_mask=plan.real[:, None, None, :],
            )
            out[at:] = part.reshape(rows - at, -1)
        return out
