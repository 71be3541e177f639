"""A radix cache written for plainness: lists of ints, inserts from the root, a full rescan for every victim.

The slow end of the speed comparison and the oracle of the property tests. It follows the engine's own flow:
single decode steps, locks moved over the whole path, times taken one by one along a walk.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from radixengine.cache import Match, Occupancy, Sequence

Rank = Callable[["NaiveNode"], tuple[float, ...]]

RANKS: dict[str, Rank] = {
    "lru": lambda node: (node.time,),
    "mru": lambda node: (-node.time,),
    "fifo": lambda node: (node.created,),
    "filo": lambda node: (-node.created,),
    "lfu": lambda node: (node.hits, node.time),
    "slru": lambda node: (1 if node.hits >= 2 else 0, node.time),
    "priority": lambda node: (node.priority, node.time),
}


@dataclass(eq=False)
class NaiveNode:
    """An edge as a list of tokens."""

    key: list[int]
    parent: NaiveNode | None = None
    children: dict[tuple[int, ...], NaiveNode] = field(default_factory=dict)
    locks: int = 0
    time: float = 0.0
    created: float = 0.0
    hits: int = 0
    priority: int = 0


@dataclass
class NaiveShare:
    """A running sequence: its locked node, and its tokens in the tree, with a slot, in pages, and counted."""

    node: NaiveNode
    cached: int
    taken: int
    pages: int
    counted: int = 0


class NaiveRadix:
    """A PrefixCache of one tier, whole-node eviction; the engine version by ``shortfall`` and ``inherit``."""

    def __init__(
        self,
        capacity: int,
        page: int = 1,
        policy: str = "lru",
        *,
        shortfall: bool = True,
        inherit: bool = True,
    ) -> None:
        self.page_size = page
        self.capacity = capacity // page * page
        self.free = self.capacity
        self.held = 0
        self.rank = RANKS[policy]
        self.shortfall = shortfall
        self.inherit = inherit
        self.roots: dict[str, NaiveNode] = {}
        self.now = 0.0
        self.evicted = 0

    def occupancy(self) -> Occupancy:
        evictable = sum(len(node.key) for node in self.nodes() if not node.locks)
        protected = sum(len(node.key) for node in self.nodes() if node.locks)
        return Occupancy(self.free, evictable, protected, self.held, self.capacity)

    def nodes(self) -> Iterator[NaiveNode]:
        stack = list(self.roots.values())
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            if node.parent is not None:
                yield node

    def prefetch(self, seq: Sequence) -> float:
        return 0.0

    def load_back(self, seq: Sequence, quota: int | None = None) -> int:
        return 0

    def peek(self, seq: Sequence) -> Match:
        node, key, depth = self._root(seq), self._key(seq), 0
        while (child := node.children.get(tuple(key[: self.page_size]))) and len(key) >= self.page_size:
            same = self._common(child.key, key)
            depth += same
            if same < len(child.key):
                break
            node, key = child, key[same:]
        return Match(depth, 0)

    def match(self, seq: Sequence) -> Match:
        key = self._key(seq)
        self.now += 1
        node, depth, walked = self._root(seq), 0, []
        while len(key) >= self.page_size and tuple(key[: self.page_size]) in node.children:
            child = node.children[tuple(key[: self.page_size])]
            same = self._common(child.key, key)
            partial = same < len(child.key)
            node = self._split(child, same) if partial else child
            walked.append(node)
            depth += same
            key = [] if partial else key[same:]
        for above, step in enumerate(reversed(walked)):
            step.time = self.now - above * 1e-6
        self._lock(node, 1)
        seq.state = NaiveShare(node, depth, depth, depth)
        seq.computed = depth
        return Match(depth, 0)

    def unlock(self, seq: Sequence) -> None:
        self._lock(seq.state.node, -1)
        seq.state = None
        seq.computed = 0

    def allocate(self, seq: Sequence, tokens: int) -> bool:
        share: NaiveShare = seq.state
        self._make_room(tokens + (self.page_size if self.page_size > 1 else 0))
        new = -(-(share.taken + tokens) // self.page_size) * self.page_size - share.pages
        if new > self.free:
            return False
        self._take(share, new)
        share.taken += tokens
        return True

    def publish(self, seq: Sequence) -> None:
        share: NaiveShare = seq.state
        seq.computed = share.taken
        self._store(seq, share, list(array("i", seq.prompt))[: share.taken])

    def decode(self, seq: Sequence, steps: int) -> int:
        share: NaiveShare = seq.state
        for step in range(steps):
            self._make_room(self.page_size)
            if share.taken == share.pages:
                if self.free < self.page_size:
                    return step
                self._take(share, self.page_size)
            share.taken += 1
            seq.computed = share.taken
        return steps

    def finish(self, seq: Sequence) -> None:
        share: NaiveShare = seq.state
        length = min(seq.computed, seq.prompt_len) if seq.cache_prompt_only else seq.computed
        self._store(seq, share, list(array("i", seq.prompt + seq.output))[:length])
        self.retract(seq)
        seq.computed = share.taken

    def retract(self, seq: Sequence) -> None:
        share: NaiveShare = seq.state
        self.held -= share.pages - share.cached
        self.free += share.pages - share.cached
        self.unlock(seq)

    def _root(self, seq: Sequence) -> NaiveNode:
        return self.roots.setdefault(seq.namespace, NaiveNode([]))

    def _key(self, seq: Sequence) -> list[int]:
        tokens = list(array("i", seq.prompt))[: max(seq.prompt_len - 1, 0)]
        return tokens[: len(tokens) // self.page_size * self.page_size]

    def _common(self, one: list[int], two: list[int]) -> int:
        same = 0
        for a, b in zip(one, two, strict=False):
            if a != b:
                break
            same += 1
        return same // self.page_size * self.page_size

    def _take(self, share: NaiveShare, tokens: int) -> None:
        self.free -= tokens
        self.held += tokens
        share.pages += tokens

    def _store(self, seq: Sequence, share: NaiveShare, tokens: list[int]) -> None:
        tokens = tokens[: len(tokens) // self.page_size * self.page_size]
        node, known = self._insert(seq, tokens, share.counted)
        share.counted = max(share.counted, len(tokens))
        self.free += max(known - share.cached, 0)
        self.held -= len(tokens) - share.cached
        self._lock(share.node, -1)
        self._lock(node, 1)
        share.node, share.cached = node, len(tokens)

    def _insert(self, seq: Sequence, key: list[int], counted: int) -> tuple[NaiveNode, int]:
        node, depth = self._root(seq), 0
        while key and tuple(key[: self.page_size]) in node.children:
            node = node.children[tuple(key[: self.page_size])]
            self.now += 1
            node.time = self.now
            same = self._common(node.key, key)
            if same < len(node.key):
                self.now += 1
                node = self._split(node, same)
            node.priority = max(node.priority, seq.priority)
            depth += same
            node.hits += depth > counted
            key = key[same:]
        if key:
            self.now += 1
            leaf = NaiveNode(key, node, time=self.now, created=self.now, hits=1, priority=seq.priority)
            node.children[tuple(key[: self.page_size])] = leaf
            return leaf, depth
        return node, depth

    def _split(self, node: NaiveNode, size: int) -> NaiveNode:
        parent = node.parent
        assert parent is not None
        upper = NaiveNode(node.key[:size], parent, locks=node.locks, hits=node.hits, priority=node.priority)
        upper.time = node.time = self.now
        upper.created = node.created if self.inherit else self.now
        parent.children[tuple(node.key[: self.page_size])] = upper
        node.key, node.parent = node.key[size:], upper
        upper.children[tuple(node.key[: self.page_size])] = node
        return upper

    def _lock(self, node: NaiveNode, by: int) -> None:
        while node.parent is not None:
            node.locks += by
            node = node.parent

    def _make_room(self, tokens: int) -> None:
        if self.free >= tokens:
            return
        goal = tokens - self.free if self.shortfall else tokens
        while goal > 0:
            leaves = [node for node in self.nodes() if not node.children and not node.locks]
            if not leaves:
                return
            victim = min(leaves, key=self.rank)
            assert victim.parent is not None
            del victim.parent.children[tuple(victim.key[: self.page_size])]
            self.free += len(victim.key)
            self.evicted += len(victim.key)
            goal -= len(victim.key)
