"""The paths that a log's prompts take through its finished radix tree, as flat arrays.

In the finished tree every prompt ends at the end of an edge, so all positions of an edge are touched by
exactly the same requests. What holds for every capacity can therefore be computed edge by edge, with exact
token counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import Node, RadixTree


@dataclass(frozen=True, slots=True)
class Paths:
    """Which edges each request touches, root first.

    ``edges[starts[i]:starts[i + 1]]`` are the edges of request i; an edge's number is larger than its
    parent's. ``sizes`` and ``depths`` hold, for each edge, its positions and those before it. A position is
    ``unit`` tokens, except the last one of request i, which is ``unit - missing[i]`` tokens (the short last
    block of a hash trace).
    """

    starts: array[int]
    edges: array[int]
    sizes: array[int]
    depths: array[int]
    missing: array[int]
    unit: int

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.starts) - 1

    @property
    def positions(self) -> int:
        """Positions of the whole tree: what an unlimited cache holds in the end."""
        return sum(self.sizes)

    def tokens(self, start: int = 0) -> int:
        """Prompt tokens of the requests from ``start`` on."""
        sizes, edges = self.sizes, self.edges
        positions = sum(sizes[edge] for edge in edges[self.starts[start] :])
        return positions * self.unit - sum(self.missing[start:])

    def longest(self) -> int:
        """Positions of the longest request."""
        ends = (self.edges[stop - 1] for start, stop in pairwise(self.starts) if stop > start)
        return max((self.depths[edge] + self.sizes[edge] for edge in ends), default=0)


def touched_paths(
    prompts: Sequence[bytes] | Iterable[bytes],
    *,
    tree: RadixTree | None = None,
    namespaces: Sequence[str] | None = None,
    unit: int = 1,
    lengths: Sequence[int] | None = None,
) -> Paths:
    """Walk every prompt through the finished tree.

    Args:
        prompts: packed int32 positions (tokens, or the block numbers of a hash trace), in order of arrival.
        tree: an unlimited tree of page 1 that holds exactly these prompts under these namespaces. None
            builds one, and keeps the prompts while it does.
        namespaces: a name for each prompt; prompts of different namespaces never share. None: all share.
        unit: tokens per position.
        lengths: tokens of each prompt, if the last position may be short. None: all positions are whole.
    """
    if tree is None:
        prompts = list(prompts)
        tree = RadixTree()
        for index, prompt in enumerate(prompts):
            tree.match_insert(prompt, namespaces[index] if namespaces is not None else "")
    numbers: dict[Node, int] = {}
    starts, edges, sizes, depths, missing = (array("q", [0]), *(array("q") for _ in range(4)))
    for index, prompt in enumerate(prompts):
        node = tree.root(namespaces[index] if namespaces is not None else "")
        pos, end, step = 0, len(prompt), tree.unit
        while pos < end:
            node = node.children[prompt[pos : pos + step]]
            number = numbers.get(node)
            if number is None:
                number = numbers[node] = len(sizes)
                sizes.append(len(node.edge) // TOKEN_BYTES)
                depths.append(pos // TOKEN_BYTES)
            edges.append(number)
            pos += len(node.edge)
        starts.append(len(edges))
        missing.append(0 if lengths is None else pos // TOKEN_BYTES * unit - lengths[index])
    return Paths(starts, edges, sizes, depths, missing, unit)
