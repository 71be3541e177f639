"""How much of a log a device replays in a minute or two: which requests, and how many tokens become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import RadixTree

__all__ = ["Sizing", "distinct_tokens", "size_of"]

_CPU_TOKENS = 48_000
"""Prompt tokens per run on a CPU."""

_SHORTEST_MEAN = 256
"""Scaling stops before prompts get shorter than this on average, where overheads outweigh tokens."""

_CPU_OUTPUT = 8
_OUTPUT = 128


@dataclass(frozen=True, slots=True)
class Sizing:
    """``chosen``: request indices by arrival. ``notes`` say what was chosen here, not by the user."""

    chosen: tuple[int, ...]
    scale: int
    max_new: int
    notes: tuple[str, ...]


def size_of(
    order: Sequence[int],
    lengths: Sequence[int],
    *,
    device: str,
    limited: bool = False,
    scale: int | None = None,
    max_new: int | None = None,
) -> Sizing:
    """Choose what is left open. On a CPU prompts are scaled down, by a power of 2, and if that is not enough
    the first requests are taken, so that a run computes no more than 48,000 prompt tokens.

    Args:
        order: request indices by arrival.
        lengths: prompt tokens by index.
        device: ``cpu`` is slow.
        limited: the user chose how many requests to take.
        scale, max_new: what the user chose.
    """
    chosen = list(order)
    notes = []
    total = sum(lengths[index] for index in chosen)
    cpu = device == "cpu"
    factor = scale or 1
    if scale is None and cpu:
        while -(-total // factor) > _CPU_TOKENS and total / len(chosen) / (2 * factor) >= _SHORTEST_MEAN:
            factor *= 2
        if factor > 1:
            notes.append(
                f"{factor} tokens of the log count as one, so that a CPU is done soon; --scale 1 takes them "
                "as they are"
            )
    if not limited and cpu:
        left, count = _CPU_TOKENS, 0
        for index in chosen:
            left -= -(-lengths[index] // factor)
            if left < 0 and count:
                break
            count += 1
        if count < len(chosen):
            notes.append(
                f"only the first {count} of {len(chosen)} requests, so that a CPU is done soon; --limit N "
                "takes more"
            )
            chosen = chosen[:count]
    return Sizing(tuple(chosen), factor, max_new or (_CPU_OUTPUT if cpu else _OUTPUT), tuple(notes))


def distinct_tokens(prompts: Sequence[bytes], namespaces: Sequence[str]) -> int:
    """Tokens in the prefix tree of the prompts."""
    tree = RadixTree()
    pairs = zip(prompts, namespaces, strict=True)
    seen = sum(tree.match_insert(prompt, namespace) for prompt, namespace in pairs)
    return sum(map(len, prompts)) // TOKEN_BYTES - seen
