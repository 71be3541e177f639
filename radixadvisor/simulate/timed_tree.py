"""A prefix tree whose entries expire: what a hosted API remembers of earlier prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

from radixadvisor.simulate.requests import TOKEN_BYTES

__all__ = ["TimedTree"]


@dataclass(slots=True, eq=False)
class _Node:
    """An edge. ``used`` and ``born`` hold for all of it; ``until`` is when the entry at its end expires."""

    edge: bytes
    used: float
    born: float
    until: float = -inf
    lifetime: float = 0.0
    children: dict[bytes, _Node] = field(default_factory=dict)


class TimedTree:
    """Packed int32 keys; positions in tokens, times in seconds, which must not go back."""

    def __init__(self) -> None:
        self._root = _Node(b"", inf, -inf)

    def add(self, key: bytes, now: float, lifetime: float = inf, max_age: float = inf) -> None:
        """Remember a whole key: all of it is used now; what had expired is born again."""
        for node in self._walk(key, now):
            if now - node.used > lifetime or now - node.born > max_age:
                node.born = now
            node.used = now

    def longest(self, key: bytes, now: float, lifetime: float = inf, max_age: float = inf) -> int:
        """The longest prefix of ``key`` no part of which has expired."""
        depth = 0
        for node, shared in self._path(key):
            if now - node.used > lifetime or now - node.born > max_age:
                break
            depth += shared
        return depth // TOKEN_BYTES

    def hit(
        self, key: bytes, now: float, lifetime: float, max_age: float, served: Callable[[int], int]
    ) -> int:
        """Serve ``served(longest)`` tokens of ``key``, at most ``longest``, and use these once more."""
        node, pos, end = self._root, 0, len(key)
        living = []
        while pos < end:
            child = node.children.get(key[pos : pos + TOKEN_BYTES])
            if child is None or now - child.used > lifetime or now - child.born > max_age:
                break
            living.append(child)
            if not key.startswith(child.edge, pos):
                pos += _common(child.edge, key, pos)
                break
            pos += len(child.edge)
            node = child
        tokens = served(pos // TOKEN_BYTES)
        node, left = self._root, tokens * TOKEN_BYTES
        for child in living:
            if not left:
                break
            if len(child.edge) > left:
                child = _split(node, child, left)
            child.used = now
            left -= len(child.edge)
            node = child
        return tokens

    def mark(self, key: bytes, now: float, lifetime: float) -> None:
        """Write an entry for exactly this key; one that is there lives on from now."""
        node = self._root
        for step in self._walk(key, now):
            node = step
        node.lifetime = max(lifetime, node.lifetime) if node.until >= now else lifetime
        node.until = now + node.lifetime

    def entries(self, key: bytes, now: float) -> list[int]:
        """Lengths, ascending, of the prefixes of ``key`` that have an entry."""
        depth, found = 0, []
        for node, shared in self._path(key):
            depth += shared
            if shared == len(node.edge) and node.until >= now:
                found.append(depth // TOKEN_BYTES)
        return found

    def renew(self, key: bytes, now: float) -> None:
        """A hit on the entry for exactly this key: it lives its time again."""
        nodes = [node for node, _ in self._path(key)]
        nodes[-1].until = now + nodes[-1].lifetime

    def _path(self, key: bytes) -> Iterable[tuple[_Node, int]]:
        """The nodes along ``key`` and how many bytes of each agree; the last one may agree in part."""
        node, pos = self._root, 0
        while pos < len(key):
            child = node.children.get(key[pos : pos + TOKEN_BYTES])
            if child is None:
                return
            if not key.startswith(child.edge, pos):
                yield child, _common(child.edge, key, pos)
                return
            yield child, len(child.edge)
            pos += len(child.edge)
            node = child

    def _walk(self, key: bytes, now: float) -> list[_Node]:
        """The nodes that make up exactly ``key``, split off or added where missing."""
        node, pos, nodes = self._root, 0, []
        while pos < len(key):
            first = key[pos : pos + TOKEN_BYTES]
            child = node.children.get(first)
            if child is None:
                child = node.children[first] = _Node(key[pos:], now, now)
            elif not key.startswith(child.edge, pos):
                child = _split(node, child, _common(child.edge, key, pos))
            nodes.append(child)
            pos += len(child.edge)
            node = child
        return nodes


def _split(parent: _Node, child: _Node, size: int) -> _Node:
    """Cut a child's edge at ``size`` bytes: the new upper half, which has no entry at its end."""
    upper = _Node(child.edge[:size], child.used, child.born)
    child.edge = child.edge[size:]
    upper.children[child.edge[:TOKEN_BYTES]] = child
    parent.children[upper.edge[:TOKEN_BYTES]] = upper
    return upper


def _common(edge: bytes, key: bytes, pos: int) -> int:
    """Bytes of whole tokens that ``edge`` and ``key[pos:]`` share."""
    low, high = 0, min(len(edge), len(key) - pos) // TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        at = low * TOKEN_BYTES
        if key.startswith(edge[at : middle * TOKEN_BYTES], pos + at):
            low = middle
        else:
            high = middle - 1
    return low * TOKEN_BYTES
