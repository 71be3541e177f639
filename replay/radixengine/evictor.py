"""Making room on the device: the evictable leaves go in the policy's order, to the host if there is one."""

from __future__ import annotations

from radixengine.evict import LeafHeap, eviction_rank
from radixengine.holding import Ledger
from radixengine.host import HostTier
from radixengine.nodes import Node
from radixengine.profile import RadixProfile
from radixengine.tree import RadixTree


class Evictor:
    """Frees tokens of ``tree`` into the ledger's pool; ``evicted`` counts them."""

    __slots__ = ("_heap", "_host", "_ledger", "_pool", "_profile", "_tree", "evicted")

    def __init__(self, tree: RadixTree, ledger: Ledger, profile: RadixProfile, host: HostTier | None) -> None:
        self._tree = tree
        self._ledger = ledger
        self._pool = ledger.pool
        self._profile = profile
        self._host = host
        self.evicted = 0
        self._heap = heap = LeafHeap(eviction_rank(profile.evict), _evictable)
        tree.on_release = heap.push
        if host is not None:
            tree.on_release = lambda node: heap.push(node) if node.resident else host.offer(node)

    def make_room(self, tokens: int) -> bool:
        """Evict if fewer than ``tokens`` are free; whether they are free in the end."""
        short = tokens - self._pool.free
        if short <= 0:
            return True
        self._evict(short if self._profile.shortfall else tokens)
        return self._pool.free >= tokens

    def close_gap(self, tokens: int) -> bool:
        """As ``make_room``, evicting only what is missing whatever the profile says."""
        self._evict(tokens - self._pool.free)
        return self._pool.free >= tokens

    def _evict(self, tokens: int) -> None:
        """Free at least ``tokens``, or all that can go: whole leaves, or the pages at their tails."""
        page = self._tree.page_size
        while tokens > 0:
            node = self._heap.pop()
            if node is None:
                return
            size = node.tokens
            part = -(-tokens // page) * page
            if not self._profile.whole_node and part < size:
                self.evicted += part
                self._ledger.free_node(node, part)
                self._tree.trim(node, part)
                self._heap.push(node)
                return
            self.evicted += size
            self._ledger.free_node(node, size)
            self._leave_device(node)
            tokens -= size

    def _leave_device(self, node: Node) -> None:
        if self._host is not None:
            self._host.backup_evicted(node)
            if node.backed:
                self._tree.demote(node)
                return
            self._host.drop_below(node)
        self._tree.remove(node)


def _evictable(node: Node) -> bool:
    return node.resident and not node.lock and not node.live
