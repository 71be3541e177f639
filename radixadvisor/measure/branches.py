"""The heaviest shared branches of a prefix tree: what a cache would keep, and what each stretch saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import Node, RadixTree

_SAME_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class SharedBranch:
    """A stretch of the tree that several prompts pass through.

    ``key`` holds the packed tokens from the root to the end of the stretch, the last ``tokens`` of which are
    its own; ``saved`` tokens need no computation because of it; ``parent`` is the index of the branch that it
    continues in the list of branches, -1 at the root.
    """

    namespace: str
    key: bytes
    depth: int
    tokens: int
    requests: int
    saved: int
    parent: int


def heaviest(tree: RadixTree, passes: Mapping[Node, int], count: int, short: int = 16) -> list[SharedBranch]:
    """The branches that save most: the ``count`` heaviest nodes passed by two requests or more, and their
    ancestors.

    A node whose only chosen child is passed by nearly the same requests, or that is shorter than ``short``
    positions, is one stretch with that child; a shorter fork is left out. ``passes`` counts, for each node,
    the prompts that pass through the whole of it. Parents stand before their children, siblings by tokens
    saved below them.
    """

    def saved_by(node: Node) -> int:
        return node.tokens * (passes[node] - 1)

    shared = [entry for entry in tree.walk() if passes[entry[1]] > 1]
    ranked = sorted(shared, key=lambda entry: -saved_by(entry[1]))[:count]
    namespaces = {node: namespace for namespace, node, _ in shared}
    depths = {node: depth for _, node, depth in shared}
    chosen: dict[Node, int] = {}
    for _, leaf, _ in ranked:
        for node in tree.path(leaf):
            chosen[node] = saved_by(node)
    children: dict[Node, list[Node]] = {}
    tops = []
    for node in sorted(chosen, key=lambda node: -depths[node]):
        parent = node.parent
        if parent in chosen:
            chosen[parent] += chosen[node]
            children.setdefault(parent, []).append(node)
        else:
            tops.append(node)
    branches: list[SharedBranch] = []
    todo = [(node, b"", -1, 0) for node in sorted(tops, key=lambda node: chosen[node])]
    while todo:
        node, key, parent_index, start = todo.pop()
        key += node.edge
        saved = saved_by(node)
        while len(children.get(node, ())) == 1 and (
            len(key) // TOKEN_BYTES - start < short or passes[children[node][0]] >= _SAME_SHARE * passes[node]
        ):
            node = children[node][0]
            key += node.edge
            saved += saved_by(node)
        depth = len(key) // TOKEN_BYTES
        # So short a fork is no branch to show: what hangs on it hangs on what stands before it.
        if depth - start >= short or node not in children:
            branches.append(
                SharedBranch(namespaces[node], key, depth, depth - start, passes[node], saved, parent_index)
            )
            parent_index, start = len(branches) - 1, depth
        below = sorted(children.get(node, ()), key=lambda node: chosen[node])
        todo += [(child, key, parent_index, start) for child in below]
    return branches
