"""What a batch could be served if its requests came in the best order: the bound behind longest-prefix
scheduling.

In depth-first order of their tree, requests that share a prefix follow each other, so a cache no larger than
the longest request already serves every token that an unlimited one would: all but one copy of each edge. No
order can do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import RadixTree


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """``order``: indices of the batch, depth first. ``hits``: the positions served in that order."""

    order: tuple[int, ...]
    hits: int


def depth_first(
    prompts: Sequence[bytes], namespaces: Sequence[str] | None = None, *, recompute_last: bool = False
) -> BatchOrder:
    """The best order of a batch for a cache that holds its longest request.

    Args:
        prompts: packed int32 positions.
        namespaces: a name for each prompt; prompts of different namespaces never share. None: all share.
        recompute_last: the last prompt token is always computed, which costs one for each exact duplicate.
    """
    names = namespaces if namespaces is not None else [""] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda index: (names[index], prompts[index], index))
    tree = RadixTree()
    hits = 0
    for index in order:
        length = len(prompts[index]) // TOKEN_BYTES
        matched = tree.match_insert(prompts[index], names[index])
        hits += min(matched, length - 1) if recompute_last and length else matched
    return BatchOrder(tuple(order), hits)
