"""The radix tree over packed token sequences.

An edge is one ``bytes`` slice of packed int32 tokens, compared at C speed; children are keyed by the bytes of
their first page; each namespace has a root of its own. Nothing is stored per token. Positions inside this
module are byte offsets; arguments and results are tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from radixengine.cache import TOKEN_BYTES
from radixengine.nodes import Node, NodeStore, TreeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Found", "Node", "RadixTree", "TreeError"]


class Found(NamedTuple):
    """What a lookup found: the deepest resident node and its depth, then the same over all tiers."""

    node: Node
    tokens: int
    deepest: Node
    deepest_tokens: int


class RadixTree(NodeStore):
    """Page-aligned radix tree with reference counts.

    ``refresh_tail``: a split stamps the unread lower half too (SGLang does). ``inherit_creation``: the upper
    half of a split keeps the creation time (SGLang 0.5.23) instead of being new (0.5.8).
    """

    __slots__ = ("inherit_creation", "refresh_tail")

    def __init__(
        self, page_size: int = 1, *, refresh_tail: bool = True, inherit_creation: bool = True
    ) -> None:
        super().__init__(page_size)
        self.refresh_tail = refresh_tail
        self.inherit_creation = inherit_creation

    def match_insert(self, key: bytes, namespace: str = "") -> int:
        """Longest page-aligned prefix of ``key`` seen before, in tokens; the rest is added in the same walk.

        For trees that never evict: nothing is stamped or offered for eviction. A node's ``hits`` are the
        calls that passed through the whole of it.
        """
        return self.grow(self.root(namespace), key)[1]

    def grow(self, node: Node, key: bytes) -> tuple[Node, int]:
        """``match_insert`` below a node: the node at whose end ``key`` now ends, and the tokens seen before.

        A later split leaves that node its end.
        """
        unit = self.unit
        end = len(key) // unit * unit
        pos = 0
        while pos < end:
            child = node.children.get(key[pos : pos + unit])
            if child is None:
                child = Node(key[pos:end], node, 0, 1)
                self._add(node, child)
                return child, pos // TOKEN_BYTES
            if not key.startswith(child.edge, pos, end):
                child = self._split(child, _common(child.edge, key, pos, end, unit))
            child.hits += 1
            pos += len(child.edge)
            node = child
        return node, pos // TOKEN_BYTES

    def peek(self, key: bytes, limit: int | None = None, namespace: str = "") -> tuple[int, int]:
        """(resident tokens, resident + host tokens) of the longest cached prefix, without any side effect.

        ``limit`` caps the length in tokens before it is floored to the page.
        """
        node = self.roots.get(namespace)
        if node is None:
            return 0, 0
        unit = self.unit
        end = self._floor(key, limit)
        pos = resident = 0
        while pos < end:
            child = node.children.get(key[pos : pos + unit])
            if child is None:
                break
            whole = key.startswith(child.edge, pos, end)
            pos += len(child.edge) if whole else _common(child.edge, key, pos, end, unit)
            if child.resident:
                resident = pos
            if not whole:
                break
            node = child
        return resident // TOKEN_BYTES, pos // TOKEN_BYTES

    def match(self, key: bytes, limit: int | None = None, namespace: str = "") -> Found:
        """The longest cached prefix, as the engine looks it up: splits a partly matched node, refreshes."""
        node = last = self.root(namespace)
        unit = self.unit
        end = self._floor(key, limit)
        self.clock = stamp = self.clock + 1
        pos = depth = 0
        while pos < end:
            child = node.children.get(key[pos : pos + unit])
            if child is None:
                break
            if not key.startswith(child.edge, pos, end):
                child = self._split(child, _common(child.edge, key, pos, end, unit))
                end = 0
            child.stamp = stamp
            pos += len(child.edge)
            node = child
            if child.resident:
                last, depth = child, pos
        return Found(last, depth // TOKEN_BYTES, node, pos // TOKEN_BYTES)

    def insert(
        self,
        node: Node,
        key: bytes,
        start: int,
        stop: int,
        *,
        first: bool = True,
        priority: int = 0,
        slots: NDArray[Any] | None = None,
    ) -> tuple[Node, int]:
        """Insert tokens ``start:stop`` of ``key`` below ``node``; the last node, and the tokens taken over.

        Tokens that were already resident are not taken over: their slots are the caller's to give back.
        ``stop - start`` is whole pages. The path above ``node`` is refreshed, and with ``first`` counts one
        hit. ``slots`` is aligned with ``key``. The caller locks the returned node or hands it to ``settle``.
        """
        unit = self.unit
        stamp = self.clock + 1
        self.clock += 2
        above = node
        while above.parent is not None:
            above.stamp = stamp
            if first:
                above.hits += 1
                if above.priority < priority:
                    above.priority = priority
            above = above.parent
        pos, end = start * TOKEN_BYTES, stop * TOKEN_BYTES
        stored = 0
        while pos < end:
            child = node.children.get(key[pos : pos + unit])
            if child is None:
                # A hair newer than the walked path, so that a split's tail is evicted before it.
                child = Node(key[pos:end], node, stamp + 1, 1, priority)
                self._add(node, child)
                stored += child.tokens
                if slots is not None:
                    child.slots = slots[pos // TOKEN_BYTES : stop].copy()
                return child, stored
            if not key.startswith(child.edge, pos, end):
                child = self._split(child, _common(child.edge, key, pos, end, unit), stamp)
            child.stamp = stamp
            child.hits += 1
            if child.priority < priority:
                child.priority = priority
            if not child.resident:
                at = pos // TOKEN_BYTES
                self.restore(child, None if slots is None else slots[at : at + child.tokens].copy())
                stored += child.tokens
            pos += len(child.edge)
            node = child
        return node, stored

    def audit(self) -> None:
        """Check every invariant; raises TreeError naming the one that is broken."""
        from radixengine.audit import audit

        audit(self)

    def _floor(self, key: bytes, limit: int | None) -> int:
        size = len(key) if limit is None else min(len(key), limit * TOKEN_BYTES)
        return size // self.unit * self.unit

    def _split(self, node: Node, size: int, stamp: int | None = None) -> Node:
        """Cut the edge after ``size`` bytes; the new upper half, held by every holder of the node."""
        parent = node.parent
        assert parent is not None
        edge = node.edge
        now = self.clock if stamp is None else stamp
        upper = Node(edge[:size], parent, now, node.hits, node.priority)
        if self.inherit_creation:
            upper.created = node.created
        upper.lock = node.lock
        upper.resident = node.resident
        upper.backed = node.backed
        upper.live = int(node.resident)
        upper.children = {edge[size : size + self.unit]: node}
        node.edge = edge[size:]
        node.parent = upper
        if node.slots is not None:
            upper.slots, node.slots = node.slots[: size // TOKEN_BYTES], node.slots[size // TOKEN_BYTES :]
        if (host := node.host_slots) is not None:
            upper.host_slots, node.host_slots = host[: size // TOKEN_BYTES], host[size // TOKEN_BYTES :]
        parent.children[upper.edge[: self.unit]] = upper
        self.nodes += 1
        if self.refresh_tail:
            node.stamp = now
            self.settle(node)
        return upper


def _common(edge: bytes, key: bytes, pos: int, end: int, unit: int) -> int:
    """Bytes shared by ``edge`` and ``key[pos:end]``, in whole units; the first unit is known to agree."""
    low = 1
    high = min(len(edge), end - pos) // unit
    while low < high:
        middle = (low + high + 1) // 2
        if key.startswith(edge[low * unit : middle * unit], pos + low * unit):
            low = middle
        else:
            high = middle - 1
    return low * unit
