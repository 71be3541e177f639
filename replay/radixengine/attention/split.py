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
            queries = grouped[at:end].permute(1, 2, 0, 3)
            new = _per_head(k[at:end], queries), _per_head(v[at:end], queries)
            found = _flash(queries, *new, 0.0, True)
            for part in parts:
                keys, values = self._read(layer, part)
                cached = _flash(queries, _per_head(keys, queries), _per_head(values, queries), 0.0, False)
                found = _join(found, cached)
            out[at:end] = found[0].permute(2, 0, 1, 3)
            at = end
        for parts in plan.decodes:
            # The query heads of a KV head see the same keys, so they are its rows.
            queries = grouped[at][:, None]
            found = None
            for part in parts:
                keys, values = self._read(layer, part)
                seen = _flash(queries, keys.transpose(0, 1)[:, None], values.transpose(0, 1)[:, None], 0.0)
                found = seen if found is None else _join(found, seen)
            assert found is not None
            out[at] = found[0][:, 0]
            at += 1
        return out.view(rows, heads * dim)

    def _parts(self, slots: NDArray[Any]) -> list[_Part]:
        """Long runs as slices, everything else in one tensor."""
        ends = np.append(np.flatnonzero(np.diff(slots) != 1) + 1, len(slots))
        starts = np.append(0, ends[:-1])
        long = ends - starts >= _RUN
        parts: list[_Part] = []
        for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
            first = int(slots[start])
            parts.append(slice(first, first + end - start))
        rest = slots[~np.repeat(long, ends - starts)]
        if len(rest):
            parts.append(self._memory.index(rest))
        return parts

    def _read(self, layer: int, part: _Part) -> tuple[Tensor, Tensor]:
        keys, values = self._memory.keys[layer], self._memory.values[layer]
        if isinstance(part, slice):
            return keys[part], values[part]
        return keys.index_select(0, part), values.index_select(0, part)


def _per_head(kv: Tensor, queries: Tensor) -> Tensor:
    """[tokens, kv_heads, dim] as [kv_heads, heads per KV head, tokens, dim], without copying."""
    return kv.transpose(0, 1)[:, None].expand(-1, queries.shape[1], -1, -1)


def _join(one: tuple[Tensor, Tensor], two: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Attention over two disjoint sets of keys, from (output, log-sum-exp of the scores) over each."""
    share = torch.sigmoid(two[1] - one[1])[..., None].to(one[0].dtype)
    return torch.lerp(one[0], two[0], share), torch.logaddexp(one[1], two[1])
