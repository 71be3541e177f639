"""Attention backends against float64: fresh random inputs, every slot that is not theirs poisoned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from radixengine.attention.base import Extend, Layout
from radixengine.memory import KVMemory
from radixengine.selftest.results import Check
from radixengine.shapes import ModelShape

if TYPE_CHECKING:
    from radixengine.attention.base import Attention

__all__ = ["TOLERANCES", "check_attention"]

TOLERANCES = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Largest error of an output whose inputs are of the order of 1: some units in the last place of its type."""

_HEADS = ((2, 2), (4, 2), (8, 2), (4, 1))
_DIMS = (64, 96, 128)
_PAGES = (1, 16)


class Case(NamedTuple):
    """One pass: a memory with every foreign slot poisoned, its rows, and what they attend to."""

    memory: KVMemory
    layout: Layout
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor


def check_attention(
    name: str,
    attention: Callable[[KVMemory], Attention],
    *,
    device: torch.device,
    dtype: str,
    cases: int,
    seed: int,
) -> Check:
    """Compare a backend with exact attention; the worst case is told."""
    rng = np.random.default_rng(seed)
    worst, detail = 0.0, ""
    for _ in range(cases):
        heads, kv_heads = _HEADS[rng.integers(len(_HEADS))]
        dim, page = int(rng.choice(_DIMS)), int(rng.choice(_PAGES))
        case = _case(rng, device, getattr(torch, dtype), heads, kv_heads, dim, page)
        backend = attention(case.memory)
        with _poisoned_outputs():
            found = backend.attend(backend.plan(case.layout), 0, case.q, case.k, case.v)
        error = float((found.double().cpu() - _exact(case)).abs().max())
        if not error <= worst:
            worst, detail = error, f"{heads}/{kv_heads} heads of {dim}, pages of {page}"
        if np.isnan(error):
            detail += ": not a number, from a slot or an output row that is not its own"
            break
    return Check(f"attention {name} {dtype}", cases, worst, TOLERANCES[dtype], detail)


@contextmanager
def _poisoned_outputs() -> Iterator[None]:
    """New tensors hold nan until they are written, so that a row that was left out shows."""
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def _case(
    rng: np.random.Generator,
    device: torch.device,
    dtype: torch.dtype,
    heads: int,
    kv_heads: int,
    dim: int,
    page: int,
) -> Case:
    """Ragged prefixes on scattered pages, several extends and decodes at once."""
    extends = [(int(rng.integers(1, 40)), int(rng.integers(0, 90))) for _ in range(rng.integers(1, 4))]
    decodes = [int(rng.integers(1, 120)) for _ in range(rng.integers(0, 5))]
    shape = ModelShape("selftest", 1, heads * dim, heads, kv_heads, dim, 8, 8)
    lengths = [*(new + cached for new, cached in extends), *decodes]
    pages = [-(-length // page) for length in lengths]
    memory = KVMemory(shape, (sum(pages) + 3) * page, device, dtype)
    for kv in (memory.keys, memory.values):
        kv[:, : memory.dummy] = float("nan")
    free = rng.permutation(sum(pages) + 3)
    sequences, at = [], 0
    for length, count in zip(lengths, pages, strict=True):
        own = np.sort(free[at : at + count]) if rng.random() < 0.5 else free[at : at + count]
        slots = (own[:, None] * page + np.arange(page)).reshape(-1)[:length]
        sequences.append(slots.astype(np.int32))
        at += count
    rows = sum(new for new, _ in extends) + len(decodes)
    q, k, v = (
        torch.from_numpy(rng.standard_normal((rows, count, dim))).to(device, dtype)
        for count in (heads, kv_heads, kv_heads)
    )
    parts = [
        Extend(new, slots[cached:][:0] if not cached else slots[:cached])
        for (new, cached), slots in zip(extends, sequences, strict=False)
    ]
    own_slots = [slots[cached:] for (_, cached), slots in zip(extends, sequences, strict=False)]
    held = sequences[len(extends) :]
    slots = np.concatenate([*own_slots, *(found[-1:] for found in held)])
    for known in (*(part.context for part in parts), *(found[:-1] for found in held)):
        index = memory.index(known)
        for kv in (memory.keys, memory.values):
            filled = torch.from_numpy(rng.standard_normal((len(known), kv_heads, dim))).to(device, dtype)
            kv[0].index_copy_(0, index, filled)
    memory.store(0, memory.index(slots), k, v)
    return Case(memory, Layout(tuple(parts), tuple(held), slots.astype(np.int32)), q, k, v)


def _exact(case: Case) -> torch.Tensor:
    """Softmax attention row by row in float64 on the host: [rows, heads * head_dim]."""
    memory, layout = case.memory, case.layout
    keys, values = memory.keys[0].double().cpu(), memory.values[0].double().cpu()
    q = case.q.double().cpu()
    group = q.shape[1] // keys.shape[1]
    seen: list[np.ndarray] = []
    at = 0
    for tokens, context in layout.extends:
        own = layout.slots[at : at + tokens]
        seen += [np.concatenate([context, own[: number + 1]]) for number in range(tokens)]
        at += tokens
    seen += list(layout.decodes)
    rows = []
    for row, slots in enumerate(seen):
        index = torch.from_numpy(slots.astype(np.int64))
        k, v = (kv[index].repeat_interleave(group, dim=1) for kv in (keys, values))
        scores = torch.einsum("hd,nhd->hn", q[row], k) / q.shape[2] ** 0.5
        rows.append(torch.einsum("hn,nhd->hd", scores.softmax(-1), v).reshape(-1))
    return torch.stack(rows)
