"""Attention over KV slots, behind one protocol; the backends by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from radixengine.attention.base import Attention
    from radixengine.memory import KVMemory

BACKENDS = ("sdpa", "split")


def attention_named(name: str, memory: KVMemory) -> Attention:
    """The backend of that name over ``memory``; ``auto`` is ``split`` on the CPU and ``sdpa`` elsewhere.

    Raises:
        ValueError: there is none, or it cannot run on the memory's device; the message says which can.
    """
    from radixengine.attention.sdpa import SdpaAttention
    from radixengine.attention.split import SplitAttention

    on_cpu = memory.device.type == "cpu"
    if name == "auto":
        name = "split" if on_cpu else "sdpa"
    if name == "sdpa":
        return SdpaAttention(memory)
    if name == "split":
        if not on_cpu:
            raise ValueError(f"Attention 'split' runs on the CPU only; {memory.device.type} has 'sdpa'.")
        return SplitAttention(memory)
    raise ValueError(f"Unknown attention {name!r}. Known: auto, {', '.join(BACKENDS)}.")
