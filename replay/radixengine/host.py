"""The tiers behind the device: a host pool that keeps copies of nodes, and an external store behind it.

A backed node that leaves the device stays in the tree and stays matchable. The external store is never
evicted; it holds whatever was ever copied to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from radixengine.evict import LeafHeap, Rank, eviction_rank
from radixengine.nodes import Node
from radixengine.tree import RadixTree

if TYPE_CHECKING:
    from radixengine.profile import RadixProfile

# Hit count at which a node is copied to the host; None: when it leaves the device.
WRITE_POLICIES: dict[str, int | None] = {"write_through": 1, "write_through_selective": 2, "write_back": None}


class HostTier:
    """``capacity`` tokens of host memory for the nodes of ``tree``."""

    __slots__ = ("_heap", "_threshold", "_tree", "capacity", "external", "used")

    def __init__(
        self, tree: RadixTree, capacity: int, write_policy: str, rank: Rank, external: ExternalStore | None
    ) -> None:
        self._tree = tree
        self._threshold = WRITE_POLICIES[write_policy]
        self._heap = LeafHeap(rank, _host_leaf)
        self.capacity = capacity
        self.external = external
        self.used = 0

    def offer(self, node: Node) -> None:
        """A host-only node became free to go."""
        if node.backed and not node.children:
            self._heap.push(node)

    def backup_path(self, node: Node) -> None:
        """After an insert: copy the nodes of the path that have been hit often enough."""
        if self._threshold is None:
            return
        for step in self._tree.path(node):
            if not step.backed and step.hits >= self._threshold:
                self.backup(step)

    def backup_evicted(self, node: Node) -> None:
        """``node`` is about to leave the device: with write_back, now is the time to copy it."""
        if self._threshold is None and not node.backed:
            self.backup(node)

    def backup(self, node: Node) -> None:
        """Copy one node; nothing happens if the host cannot make room."""
        if self.make_room(node.tokens):
            node.backed = True
            self.used += node.tokens
            if self.external is not None:
                self.external.store(self._tree.path(node))

    def make_room(self, tokens: int) -> bool:
        """Evict host-only leaves until ``tokens`` are free; whether they are."""
        if tokens > self.capacity:
            return False
        while self.capacity - self.used < tokens:
            victim = self._heap.pop()
            if victim is None:
                return False
            self._remove(victim)
        return True

    def drop_below(self, node: Node) -> None:
        """``node`` leaves every tier, so what hangs below it on the host cannot be matched any more."""
        below = list(node.children.values())
        for child in below:
            below.extend(child.children.values())
        for child in reversed(below):
            self._remove(child)

    def graft(self, node: Node, key: bytes, start: int, stop: int) -> None:
        """Put prefetched tokens ``start:stop`` of ``key`` below ``node``, on the host; room has been made."""
        self._tree.settle(self._tree.graft(node, key, start, stop))
        self.used += stop - start

    def _remove(self, node: Node) -> None:
        self.used -= node.tokens
        self._tree.remove(node)


def build_tiers(tree: RadixTree, capacity: int, profile: RadixProfile) -> HostTier | None:
    """The tiers that a profile asks for behind a device of ``capacity`` tokens."""
    if not profile.host_ratio:
        return None
    page = profile.page_size
    external = None
    if profile.external_rate:
        external = ExternalStore(
            page,
            profile.external_rate,
            profile.prefetch_minimum,
            profile.prefetch_timeout,
            profile.prefetch_timeout_per_token,
        )
    room = int(capacity * profile.host_ratio) // page * page
    return HostTier(tree, room, profile.host_write, eviction_rank(profile.evict), external)


class Prefetch(NamedTuple):
    """What can be brought from the external store in time: tokens, and the seconds it takes."""

    tokens: int
    seconds: float


class ExternalStore:
    """An unlimited third tier that reads ``rate`` tokens per second.

    A prefetch of fewer than ``minimum`` tokens is not worth starting; one that takes longer than
    ``timeout + timeout_per_token * tokens`` seconds is cut there.
    """

    __slots__ = ("_minimum", "_page", "_rate", "_stores", "_timeout", "_timeout_per_token")

    def __init__(
        self, page_size: int, rate: float, minimum: int, timeout: float, timeout_per_token: float
    ) -> None:
        self._page = page_size
        self._rate = rate
        self._minimum = minimum
        self._timeout = timeout
        self._timeout_per_token = timeout_per_token
        self._stores: dict[Node, RadixTree] = {}

    def store(self, path: list[Node]) -> None:
        """Keep the tokens of a path."""
        root = path[0].parent
        assert root is not None
        tree = self._stores.get(root)
        if tree is None:
            tree = self._stores[root] = RadixTree(self._page)
        tree.match_insert(b"".join(node.edge for node in path))

    def plan(self, root: Node, key: bytes, limit: int, known: int) -> Prefetch:
        """What to bring of ``key[:limit]`` (tokens) beyond the ``known`` ones that nearer tiers hold."""
        tree = self._stores.get(root)
        tokens = tree.peek(key, limit)[0] - known if tree is not None else 0
        if tokens < self._minimum:
            return Prefetch(0, 0.0)
        allowed = self._timeout + self._timeout_per_token * tokens
        if tokens <= allowed * self._rate:
            return Prefetch(tokens, tokens / self._rate)
        return Prefetch(int(allowed * self._rate) // self._page * self._page, allowed)


def _host_leaf(node: Node) -> bool:
    return (
        node.backed and not node.resident and not node.children and not node.lock and node.parent is not None
    )
