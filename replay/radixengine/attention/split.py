"""The CPU's backend: cached slots are read where they lie, and no mask is ever made.

A new token sees all of the cached prefix and, causally, the tokens computed with it. The two are attended to
apart, the first without a mask, the second with the kernel's own causality, and joined by their log-sum-exps.
The order of unmasked keys does not matter, so that long runs of consecutive slots are read as views and only
the rest is gathered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from radixengine.attention.base import Layout
    from radixengine.memory import KVMemory

# Shorter runs of slots are gathered: a kernel call costs about as much as copying this many tokens.
_RUN = 128

_Part = slice | torch.Tensor
_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


class _Plan(NamedTuple):
    """(rows, parts of the cached prefix) of each extend, and the parts of each decode."""

    extends: list[tuple[int, list[_Part]]]
    decodes: list[list[_Part]]


class SplitAttention:
    """Prefix and new tokens apart, sequence by sequence."""

    name = "split"

    def __init__(self, memory: KVMemory) -> None:
        self._memory = memory

    def plan(self, layout: Layout) -> _Plan:
        """Where the cached tokens lie."""
        return _Plan(
            [(tokens, self._parts(context)) for tokens, context in layout.extends],
            [self._parts(slots) for slots in layout.decodes],
        )

    def attend(self, plan: _Plan, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See the protocol."""
        rows, heads, dim = q.shape
        groups = k.shape[1]
        grouped = q.view(rows, groups, heads // groups, dim)
        out = torch.empty_like(grouped)
        at = 0
        for tokens, parts in plan.extends:
            end = at + tokens
            queries = grouped[at:end].permute(1, 2, 0, 3).contiguous()
            new = [kv[at:end].transpose(0, 1)[:, None].expand_as(queries) for kv in (k, v)]
            found = _flash(queries, *new, 0.0, True)
            self._join(layer, queries, parts, found, out[at:end].permute(1, 2, 0, 3))
            at = end
        for parts in plan.decodes:
            self._join(layer, grouped[at][:, :, None], parts, None, out[at][:, :, None])
            at += 1
        return out.view(rows, heads * dim)

    def _join(
        self,
        layer: int,
        queries: Tensor,
        parts: list[_Part],
        found: tuple[Tensor, Tensor] | None,
        out: Tensor,
    ) -> None:
        """Attention of ``queries`` [kv_heads, heads per KV head, tokens, dim] over all of the parts, put into
        ``out`` of the same shape.

        ``found``: (output, log-sum-exp of the scores) over keys that belong to them as well.
        """
        # The query heads of a KV head see the same keys, so they are its rows.
        rows = queries.flatten(1, 2)[:, None]
        for number, part in enumerate(parts, 1):
            keys, values = self._memory.keys[layer], self._memory.values[layer]
            if isinstance(part, slice):
                keys, values = keys[part], values[part]
            else:
                keys, values = keys.index_select(0, part), values.index_select(0, part)
            seen, scores = _flash(rows, keys.transpose(0, 1)[:, None], values.transpose(0, 1)[:, None], 0.0)
            seen, scores = seen.view_as(queries), scores.reshape(queries.shape[:-1])
            if found is not None:
                share = torch.sigmoid(scores - found[1])[..., None].to(seen.dtype)
                if number == len(parts):
                    torch.lerp(found[0], seen, share, out=out)
                    return
                seen, scores = torch.lerp(found[0], seen, share), torch.logaddexp(found[1], scores)
            found = seen, scores
        assert found is not None
        out.copy_(found[0])

    def _parts(self, slots: NDArray[Any]) -> list[_Part]:
        """Long runs as slices, everything else in one tensor."""
        ends = np.append(np.flatnonzero(slots[1:] != slots[:-1] + 1) + 1, len(slots))
        if len(ends) == 1 and len(slots) >= _RUN:
            return [slice(int(slots[0]), int(slots[0]) + len(slots))]
        lengths = np.diff(ends, prepend=0)
        long = lengths >= _RUN
        parts: list[_Part] = [
            slice(first, first + length)
            for first, length in zip(
                slots[ends[long] - lengths[long]].tolist(), lengths[long].tolist(), strict=True
            )
        ]
        rest = slots[~np.repeat(long, lengths)]
        if len(rest):
            parts.append(self._memory.index(rest))
        return parts
