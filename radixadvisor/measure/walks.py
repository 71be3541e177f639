"""The paths of a log's sequences through its finished radix tree, the ground of every unlimited measurement.

A sequence is a prompt with what its output leaves in the cache. In the finished tree every prompt and every
sequence ends at the end of an edge, so all positions of an edge are touched by exactly the same sequences:
who was there before, and when, are questions about edges alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import Node, RadixTree

from radixadvisor.measure.paths import Paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Walks:
    """Which edges each sequence touches, root first, as flat columns.

    Attributes:
        edges: the number of the edge, for each touch, sequence after sequence in order of arrival.
        owners: the sequence of each touch.
        in_prompt: whether the touch belongs to the sequence's prompt.
        sizes, depths: positions of each edge, and those before it; a child's number exceeds its parent's.
        lengths: positions of each prompt.
        nodes: the tree's nodes by edge number.
    """

    edges: Counts
    owners: Counts
    in_prompt: NDArray[np.bool_]
    sizes: Counts
    depths: Counts
    lengths: Counts
    nodes: list[Node]
    tree: RadixTree

    def __len__(self) -> int:
        """Sequences."""
        return len(self.lengths)

    def passes(self) -> dict[Node, int]:
        """For each node the number of prompts that pass through the whole of it."""
        import numpy as np

        counts = np.bincount(self.edges[self.in_prompt], minlength=len(self.sizes))
        return dict(zip(self.nodes, counts.tolist(), strict=True))

    def prompt_paths(self, unit: int = 1, tokens: Counts | None = None) -> Paths:
        """The prompts' part alone, for measurements over cache sizes.

        Args:
            unit: tokens per position.
            tokens: prompt tokens, where the last position may be short.
        """
        import numpy as np

        edges = self.edges[self.in_prompt]
        counts = np.bincount(self.owners[self.in_prompt], minlength=len(self))
        missing = np.zeros(len(self), np.int64) if tokens is None else self.lengths * unit - tokens
        return Paths(
            starts=_column(np.concatenate(([0], np.cumsum(counts)))),
            edges=_column(edges),
            sizes=_column(self.sizes),
            depths=_column(self.depths),
            missing=_column(missing),
            unit=unit,
        )


def walk(
    prompts: Iterable[bytes], outputs: Sequence[bytes], vocabularies: Sequence[str] | None = None
) -> Walks:
    """Build the tree of all sequences and walk them through it.

    Args:
        prompts: packed int32 positions in order of arrival.
        outputs: for each prompt the packed positions that its output adds to the cache, without the last
            sampled token, which never has KV; empty where unknown.
        vocabularies: a name for each prompt; those of different names never share. None: all share.
    """
    import numpy as np

    tree = RadixTree()
    names = vocabularies if vocabularies is not None else [""] * len(outputs)
    stops: list[tuple[Node, Node]] = []
    lengths, stored = array("q"), array("q")
    for prompt, output, name in zip(prompts, outputs, names, strict=True):
        border = tree.grow(tree.root(name), prompt)[0]
        stops.append((border, tree.grow(border, output)[0] if output else border))
        lengths.append(len(prompt) // TOKEN_BYTES)
        stored.append((len(prompt) + len(output)) // TOKEN_BYTES)
    numbers: dict[Node, int] = {}
    edges, sizes, depths, counts, prompt_counts = (array("q") for _ in range(5))
    # What a node ends at stays its own through all splits: the way back to the root is the finished path.
    for border, node in stops:
        path: list[Node] = []
        behind = 0
        while node.parent is not None:
            if node is border:
                behind = len(path)
            path.append(node)
            node = node.parent
        if border.parent is None:
            behind = len(path)
        depth = 0
        for node in reversed(path):
            number = numbers.get(node)
            if number is None:
                number = numbers[node] = len(sizes)
                sizes.append(node.tokens)
                depths.append(depth)
            edges.append(number)
            depth = depths[number] + sizes[number]
        counts.append(len(path))
        prompt_counts.append(len(path) - behind)
    ends = np.cumsum(np.array(counts, np.int64))
    position = np.arange(len(edges)) - np.repeat(ends - np.array(counts, np.int64), counts)
    return Walks(
        edges=np.array(edges, np.int64),
        owners=np.repeat(np.arange(len(outputs)), counts),
        in_prompt=position < np.repeat(np.array(prompt_counts, np.int64), counts),
        sizes=np.array(sizes, np.int64),
        depths=np.array(depths, np.int64),
        lengths=np.array(lengths, np.int64),
        nodes=list(numbers),
        tree=tree,
    )


def _column(values: Counts) -> array[int]:
    import numpy as np

    column = array("q")
    column.frombytes(np.ascontiguousarray(values, np.int64).tobytes())
    return column
