"""The tiers behind the device: a host pool that keeps copies of nodes, and an external store behind it.

A backed node that leaves the device stays in the tree and stays matchable. The external store is never
evicted; it holds whatever was ever copied to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from radixengine.evict import LeafHeap, Rank, eviction_rank
from radixengine.nodes import Node
from radixengine.pool import PoolError, SlotPool
from radixengine.tree import RadixTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from radixengine.profile import RadixProfile

# Hit count at which a node is copied to the host; None: when it leaves the device.
WRITE_POLICIES: dict[str, int | None] = {"write_through": 1, "write_through_selective": 2, "write_back": None}


class Copies(Protocol):
    """Moves KV between the device's slots and the host's, both int32 of equal length."""

    def to_host(self, device: NDArray[Any], host: NDArray[Any]) -> None:
        """Copy what the device's slots hold now, before anything is written to them again."""

    def to_device(self, host: NDArray[Any], device: NDArray[Any]) -> None:
        """Copy back, before the next forward pass reads the device's slots."""


class HostTier:
    """``capacity`` tokens of host memory for the nodes of ``tree``.

    With ``copies`` every token has a real slot on the host too, and KV moves; otherwise tokens are counted.
    """

    __slots__ = ("_copies", "_heap", "_slots", "_threshold", "_tree", "capacity", "external", "used")

    def __init__(
        self,
        tree: RadixTree,
        capacity: int,
        write_policy: str,
        rank: Rank,
        external: ExternalStore | None,
        copies: Copies | None = None,
    ) -> None:
        self._tree = tree
        self._copies = copies
        self._slots = None if copies is None else SlotPool(capacity, tree.page_size)
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
            if self._copies is not None and self._slots is not None and node.slots is not None:
                node.host_slots = self._slots.take_slots(node.tokens)
                self._copies.to_host(node.slots, node.host_slots)
            if self.external is not None:
                self.external.store(self._tree.path(node))

    def load(self, node: Node) -> None:
        """``node`` has been given slots on the device: fill them."""
        if self._copies is not None and node.slots is not None and node.host_slots is not None:
            self._copies.to_device(node.host_slots, node.slots)

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

    def audit(self, nodes: list[Node]) -> None:
        """Recount; every slot of the host is in exactly one place. Raises PoolError."""
        import numpy as np

        backed = [node for node in nodes if node.backed]
        held = sum(node.tokens for node in backed)
        if held != self.used or held > self.capacity:
            raise PoolError(f"{held} tokens on the host, {self.used} counted")
        if self._slots is None:
            return
        places = [
            self._slots.free_slots(),
            *(node.host_slots for node in backed if node.host_slots is not None),
        ]
        if not np.array_equal(np.sort(np.concatenate(places)), np.arange(self._slots.total)):
            raise PoolError("a slot of the host is in two places or in none")

    def _remove(self, node: Node) -> None:
        self.used -= node.tokens
        if self._slots is not None and node.host_slots is not None:
            self._slots.give_slots(node.host_slots)
            node.host_slots = None
        self._tree.remove(node)


def host_tokens(capacity: int, profile: RadixProfile) -> int:
    """Tokens of the host tier behind a device of ``capacity`` tokens, in whole pages."""
    return int(capacity * profile.host_ratio) // profile.page_size * profile.page_size


def build_tiers(
    tree: RadixTree, capacity: int, profile: RadixProfile, copies: Copies | None = None
) -> HostTier | None:
    """The tiers that a profile asks for behind a device of ``capacity`` tokens.

    Raises:
        ValueError: KV is to be copied to a host tier that cannot hold a page.
    """
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
    room = host_tokens(capacity, profile)
    return HostTier(tree, room, profile.host_write, eviction_rank(profile.evict), external, copies)


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
