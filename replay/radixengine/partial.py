"""The index behind partial block reuse: which cached blocks follow a given prefix, and what they hold."""

from __future__ import annotations

from bisect import bisect_left, insort

from radixengine.cache import TOKEN_BYTES


class PartialIndex:
    """Cached blocks by the key of their parent: where a block that misses finds a source to copy from."""

    def __init__(self) -> None:
        self._children: dict[bytes, list[bytes]] = {}
        self._where: dict[bytes, tuple[bytes, bytes]] = {}

    def add(self, parent: bytes, key: bytes, tokens: bytes) -> None:
        """A block ``key`` holding packed int32 ``tokens`` now follows ``parent``."""
        if key not in self._where:
            self._where[key] = (parent, tokens)
            insort(self._children.setdefault(parent, []), tokens)

    def discard(self, key: bytes) -> None:
        """The last block with this key was evicted."""
        parent, tokens = self._where.pop(key)
        siblings = self._children[parent]
        del siblings[bisect_left(siblings, tokens)]
        if not siblings:
            del self._children[parent]

    def longest(self, parent: bytes, tokens: bytes) -> int:
        """Tokens of the longest common prefix of ``tokens`` and any block that follows ``parent``.

        In sorted order that block is a neighbour of where ``tokens`` would stand.
        """
        siblings = self._children.get(parent)
        if not siblings or not tokens:
            return 0
        at = bisect_left(siblings, tokens)
        return max(_common(tokens, other) for other in siblings[max(at - 1, 0) : at + 1])


def _common(a: bytes, b: bytes) -> int:
    """Leading tokens that two packed sequences share."""
    size = min(len(a), len(b))
    differing = int.from_bytes(a[:size], "big") ^ int.from_bytes(b[:size], "big")
    return (size - (differing.bit_length() + 7) // 8) // TOKEN_BYTES
