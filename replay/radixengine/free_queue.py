"""vLLM's queue of free blocks, with batch operations.

It has three parts, popped in this order: released blocks without a key (a stack), blocks never used so far,
released blocks with a key, oldest first. A block that is hit while it waits in the last part is not searched
there: ``_stale`` counts its dead entries, and an entry of a block is dead before any later one of that block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

COMPACT_FLOOR = 4096


class FreeQueue:
    """The free ones of the blocks ``0 .. blocks - 1``, all of them at first."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.used = 0
        self._unkeyed: list[int] = []
        self._keyed: deque[int] = deque()
        self._stale: list[int] = []
        self._dead = 0

    def __len__(self) -> int:
        return len(self._unkeyed) + self.blocks - self.used + len(self._keyed) - self._dead

    @property
    def keyed(self) -> int:
        """Free blocks that still have a key."""
        return len(self._keyed) - self._dead

    def pop(self, count: int) -> tuple[list[int], int]:
        """The next ``count`` blocks, and how many of them (the last ones) still have a key to be dropped.

        The caller has checked that there are as many.
        """
        unkeyed = self._unkeyed
        out: list[int] = []
        while unkeyed and len(out) < count:
            out.append(unkeyed.pop())
        unused = min(count - len(out), self.blocks - self.used)
        if unused:
            out.extend(range(self.used, self.used + unused))
            self.used += unused
            self._stale.extend([0] * unused)
        keyed = count - len(out)
        popleft, stale = self._keyed.popleft, self._stale
        while len(out) < count:
            block = popleft()
            if stale[block]:
                stale[block] -= 1
                self._dead -= 1
            else:
                out.append(block)
        return out, keyed

    def remove(self, blocks: list[int]) -> None:
        """Take keyed free blocks out, wherever they are: they were hit."""
        stale = self._stale
        for block in blocks:
            stale[block] += 1
        self._dead += len(blocks)

    def release(self, keyed: list[int], unkeyed: list[int]) -> None:
        """Blocks of one request, each list tail first: keyed ones go to the back, the others to the front."""
        self._keyed.extend(keyed)
        self._unkeyed.extend(reversed(unkeyed))
        if self._dead > COMPACT_FLOOR and self._dead * 4 > len(self._keyed) * 3:
            self._keyed = deque(self._live())
            self._stale = [0] * self.used
            self._dead = 0

    def audit(self) -> tuple[list[int], list[int]]:
        """The used free blocks without and with a key; raises AssertionError if the counts disagree."""
        keyed = list(self._live())
        assert len(keyed) == self.keyed, "dead entries are counted wrongly"
        free = [*self._unkeyed, *keyed]
        assert len(set(free)) == len(free), "a block is free twice"
        return list(self._unkeyed), keyed

    def _live(self) -> Iterator[int]:
        stale = list(self._stale)
        for block in self._keyed:
            if stale[block]:
                stale[block] -= 1
            else:
                yield block
