"""Nodes of the radix tree: who locks them, which tier holds them, which may be evicted.

A node is *resident* while its KV is on the device and *backed* while a copy is on the host. A resident
node's parent is resident too. ``live`` counts resident children: a resident node with ``live == 0`` and
``lock == 0`` is a leaf that may be evicted; the tree offers it to ``on_release`` when that comes about
and when its recency changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from radixengine.cache import TOKEN_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_CHILDREN: dict[bytes, Node] = {}


class TreeError(Exception):
    """The tree broke one of its own invariants: a defect of this program, never of the input."""


class Node:
    """An edge and the subtree below it. Roots have an empty edge and no parent; so have removed nodes."""

    __slots__ = (
        "backed",
        "children",
        "created",
        "edge",
        "hits",
        "host_slots",
        "live",
        "lock",
        "parent",
        "priority",
        "resident",
        "slots",
        "stamp",
    )

    def __init__(
        self, edge: bytes, parent: Node | None, stamp: int, hits: int = 0, priority: int = 0
    ) -> None:
        self.edge = edge
        self.parent = parent
        self.children = _NO_CHILDREN
        self.stamp = stamp
        self.created = stamp
        self.hits = hits
        self.priority = priority
        self.lock = 0
        self.live = 0
        self.resident = True
        self.backed = False
        self.slots: NDArray[Any] | None = None
        self.host_slots: NDArray[Any] | None = None

    @property
    def tokens(self) -> int:
        """Tokens on this edge."""
        return len(self.edge) // TOKEN_BYTES


class NodeStore:
    """The nodes under one root per namespace, with their token counts.

    ``evictable`` + ``protected`` are the tokens resident on the device: unlocked and locked.
    """

    __slots__ = ("clock", "evictable", "nodes", "on_release", "page_size", "protected", "roots", "unit")

    def __init__(self, page_size: int = 1) -> None:
        if page_size < 1:
            raise ValueError(f"page size must be at least 1 token, got {page_size}")
        self.page_size = page_size
        self.unit = page_size * TOKEN_BYTES
        self.roots: dict[str, Node] = {}
        self.on_release: Callable[[Node], None] | None = None
        self.clock = 0
        self.nodes = 0
        self.evictable = 0
        self.protected = 0

    @property
    def tokens(self) -> int:
        """Tokens resident on the device."""
        return self.evictable + self.protected

    def root(self, namespace: str = "") -> Node:
        """The root of a namespace, made on first use."""
        root = self.roots.get(namespace)
        if root is None:
            root = self.roots[namespace] = Node(b"", None, 0)
        return root

    def lock(self, node: Node, until: Node | None = None) -> None:
        """Protect the path from ``node`` up to the root, or up to (excluding) its ancestor ``until``."""
        while node is not until and node.parent is not None:
            if not node.lock and node.resident:
                size = len(node.edge) // TOKEN_BYTES
                self.evictable -= size
                self.protected += size
            node.lock += 1
            node = node.parent

    def unlock(self, node: Node, until: Node | None = None) -> None:
        """Undo one ``lock`` over the same path."""
        while node is not until and node.parent is not None:
            if node.lock <= 0:
                raise TreeError("unlock of a node that is not locked")
            node.lock -= 1
            if not node.lock:
                if node.resident:
                    size = len(node.edge) // TOKEN_BYTES
                    self.evictable += size
                    self.protected -= size
                self.settle(node)
            node = node.parent

    def settle(self, node: Node) -> None:
        """Offer ``node`` for eviction if it is an unlocked node without resident children."""
        if self.on_release is not None and not node.lock and not node.live and node.parent is not None:
            self.on_release(node)

    def remove(self, node: Node) -> None:
        """Take an unlocked childless node out of the tree; its parent may become evictable."""
        parent = self._parent_of_free(node)
        if node.children:
            raise TreeError("removal of a node that has children")
        del parent.children[node.edge[: self.unit]]
        self.nodes -= 1
        if node.resident:
            self._leave(node, parent)
        node.parent = None
        self.settle(parent)

    def trim(self, node: Node, tokens: int) -> None:
        """Drop the last ``tokens`` (whole pages, fewer than the edge) of an unlocked resident leaf."""
        self._parent_of_free(node)
        keep = len(node.edge) - tokens * TOKEN_BYTES
        if node.children or not node.resident or keep < self.unit or keep % self.unit:
            raise TreeError("only whole pages at the tail of a resident leaf can be trimmed")
        node.edge = node.edge[:keep]
        self.evictable -= tokens
        if node.slots is not None:
            node.slots = node.slots[: keep // TOKEN_BYTES]

    def demote(self, node: Node) -> None:
        """Take a backed node without resident children off the device; it stays matchable on the host."""
        parent = self._parent_of_free(node)
        if not node.backed or not node.resident or node.live:
            raise TreeError("only a backed, resident node without resident children can be demoted")
        self._leave(node, parent)
        node.slots = None
        self.settle(node)
        self.settle(parent)

    def restore(self, node: Node, slots: NDArray[Any] | None = None) -> None:
        """Make a host-only node resident again, in ``slots``."""
        parent = node.parent
        if parent is None or node.resident or not (parent.resident or parent.parent is None):
            raise TreeError("only a host-only node below a resident one can be restored")
        node.resident = True
        node.slots = slots
        parent.live += 1
        if node.lock:
            self.protected += node.tokens
        else:
            self.evictable += node.tokens

    def graft(self, node: Node, key: bytes, start: int, stop: int) -> Node:
        """Add tokens ``start:stop`` of ``key`` below ``node``, on the host only; no child shares a page."""
        self.clock += 1
        above = node
        while above.parent is not None:
            above.stamp = self.clock
            above = above.parent
        self.settle(node)
        child = Node(key[start * TOKEN_BYTES : stop * TOKEN_BYTES], node, self.clock)
        child.resident = False
        child.backed = True
        self._add(node, child)
        return child

    def walk(self) -> Iterator[tuple[str, Node, int]]:
        """(namespace, node, depth in tokens where its edge starts) of all nodes, parents before children."""
        for namespace, root in self.roots.items():
            stack = [(child, 0) for child in reversed(root.children.values())]
            while stack:
                node, depth = stack.pop()
                yield namespace, node, depth
                below = depth + node.tokens
                stack.extend((child, below) for child in reversed(node.children.values()))

    def leaves(self) -> Iterator[Node]:
        """Nodes without children."""
        return (node for _, node, _ in self.walk() if not node.children)

    def path(self, node: Node) -> list[Node]:
        """The nodes from the root's child down to ``node``."""
        nodes: list[Node] = []
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def _add(self, parent: Node, child: Node) -> None:
        if parent.children is _NO_CHILDREN:
            parent.children = {}
        parent.children[child.edge[: self.unit]] = child
        self.nodes += 1
        if child.resident:
            parent.live += 1
            self.evictable += len(child.edge) // TOKEN_BYTES

    def _leave(self, node: Node, parent: Node) -> None:
        node.resident = False
        parent.live -= 1
        self.evictable -= node.tokens

    def _parent_of_free(self, node: Node) -> Node:
        if node.parent is None or node.lock:
            raise TreeError("a root or a locked node cannot be evicted")
        return node.parent
