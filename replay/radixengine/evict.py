"""Which cached leaf goes first: eviction policies by name, and a lazy heap over the leaves."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from radixengine.nodes import Node

Rank = Callable[[Node], Any]

# The smallest rank is evicted first. Stamps differ between any two nodes that can be leaves at once, so that
# ranks never tie.
EVICTION: dict[str, Rank] = {
    "fifo": attrgetter("created"),
    "filo": lambda node: -node.created,
    "lfu": attrgetter("hits", "stamp"),
    "lru": attrgetter("stamp"),
    "mru": lambda node: -node.stamp,
    "priority": attrgetter("priority", "stamp"),
    "slru": lambda node: (node.hits >= 2, node.stamp),
}


def eviction_rank(name: str) -> Rank:
    """The ranking of a policy.

    Raises:
        ValueError: no such policy; the message lists those that exist.
    """
    if name not in EVICTION:
        raise ValueError(f"Unknown eviction policy {name!r}. Known: {', '.join(sorted(EVICTION))}.")
    return EVICTION[name]


class LeafHeap:
    """Candidates for eviction, smallest rank first.

    A node is pushed whenever it becomes a candidate or its rank changes while it is one; entries that time
    has overtaken are recognised when they surface. ``eligible`` says whether a node is a candidate now.
    """

    __slots__ = ("_count", "_eligible", "_heap", "_limit", "_rank")

    def __init__(self, rank: Rank, eligible: Callable[[Node], bool]) -> None:
        self._rank = rank
        self._eligible = eligible
        self._heap: list[tuple[Any, int, Node]] = []
        self._count = 0
        self._limit = 1024

    def __len__(self) -> int:
        """Entries, overtaken ones included."""
        return len(self._heap)

    def push(self, node: Node) -> None:
        """Enter a candidate with its present rank."""
        self._count += 1
        heapq.heappush(self._heap, (self._rank(node), self._count, node))
        if len(self._heap) > self._limit:
            self._sweep()

    def pop(self) -> Node | None:
        """Take out the candidate with the smallest rank; None if there is none."""
        heap, rank, eligible = self._heap, self._rank, self._eligible
        while heap:
            entered, _, node = heapq.heappop(heap)
            if eligible(node) and rank(node) == entered:
                return node
        return None

    def _sweep(self) -> None:
        """Drop overtaken entries, so that the heap stays within twice the number of candidates."""
        valid: dict[Node, tuple[Any, int, Node]] = {}
        for entry in self._heap:
            if self._eligible(entry[2]) and self._rank(entry[2]) == entry[0]:
                valid[entry[2]] = entry
        self._heap = list(valid.values())
        heapq.heapify(self._heap)
        self._limit = max(1024, 2 * len(self._heap))
