"""How many CPU threads serve a model fastest, tried on the model itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from time import perf_counter

import numpy as np
import torch

from radixengine.attention import attention_named
from radixengine.attention.base import Extend, Layout
from radixengine.memory import KVMemory
from radixengine.model import Decoder

_TOKENS = 128
_REPEATS = 5


def best_threads(model: Decoder) -> int:
    """1 or 2, whichever runs one layer faster: a prefill of 128 tokens and 8 decode passes behind it.

    On a device other than the CPU they do not matter: those that torch has.
    """
    if model.device.type != "cpu":
        return torch.get_num_threads()
    if (os.cpu_count() or 1) < 2:
        return 1
    layer = replace(model, shape=replace(model.shape, layers=1), layers=model.layers[:1])
    return min((1, 2), key=lambda threads: _seconds(layer, threads))


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Torch runs on so many threads inside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _seconds(model: Decoder, threads: int) -> float:
    """The median of some repeats."""
    memory = KVMemory(model.shape, _TOKENS + 1, model.device, model.dtype)
    attention = attention_named("auto", memory)
    model.prepare(_TOKENS + 1)
    slots = np.arange(_TOKENS + 1, dtype=np.int32)
    prefill = Layout((Extend(_TOKENS, slots[:0]),), (), slots[:-1])
    decode = Layout((), (slots,), slots[-1:])
    taken = []
    with using_threads(threads), torch.inference_mode():
        for _ in range(_REPEATS):
            begin = perf_counter()
            for layout in (prefill, *[decode] * 8):
                index, last = memory.index(layout.slots), memory.index(np.array([len(layout.slots) - 1]))
                plan = attention.plan(layout)
                model.forward(index, index, index, memory, attention, plan, last)
            taken.append(perf_counter() - begin)
    return median(taken)
