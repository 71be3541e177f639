"""Where KV lives: a pool of token slots handed out in pages, counted only or with real slot numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PoolError(Exception):
    """Slots were taken or given back that the pool cannot account for: a defect of this program."""


class TokenPool:
    """Counts free tokens. ``total`` is ``capacity`` rounded down to whole pages."""

    __slots__ = ("free", "page_size", "total")

    def __init__(self, capacity: int, page_size: int = 1) -> None:
        if capacity < page_size:
            raise ValueError(f"capacity must be at least one page of {page_size} tokens, got {capacity}")
        self.page_size = page_size
        self.total = capacity // page_size * page_size
        self.free = self.total

    def take(self, tokens: int) -> None:
        """Take whole pages of ``tokens``; the caller has seen that they are free."""
        if tokens > self.free or tokens % self.page_size:
            raise PoolError(f"{tokens} tokens asked of a pool with {self.free} free")
        self.free -= tokens

    def give(self, tokens: int) -> None:
        """Give whole pages back."""
        self.free += tokens
        if self.free > self.total or tokens % self.page_size:
            raise PoolError(f"{tokens} tokens given back to a pool of {self.total}, now {self.free} free")


class SlotPool(TokenPool):
    """A pool that knows its slots: page ``p`` holds the slots ``p * page_size`` and following.

    Pages are handed out in the order in which they became free.
    """

    __slots__ = ("_pages",)

    def __init__(self, capacity: int, page_size: int = 1) -> None:
        import numpy as np

        super().__init__(capacity, page_size)
        self._pages: NDArray[Any] = np.arange(self.total // page_size, dtype=np.int32)

    def take_slots(self, tokens: int) -> NDArray[Any]:
        """The int32 slot numbers of the pages taken."""
        import numpy as np

        self.take(tokens)
        count = tokens // self.page_size
        pages, self._pages = self._pages[:count], self._pages[count:]
        slots = pages[:, None] * self.page_size + np.arange(self.page_size, dtype=np.int32)
        return slots.reshape(-1)

    def give_slots(self, slots: NDArray[Any]) -> None:
        """Give back whole pages, as the slot numbers in them, page by page."""
        import numpy as np

        self.give(len(slots))
        self._pages = np.concatenate([self._pages, slots[:: self.page_size] // self.page_size])

    def free_slots(self) -> NDArray[Any]:
        """The slot numbers that are free, in the order in which they would be handed out."""
        import numpy as np

        slots = self._pages[:, None] * self.page_size + np.arange(self.page_size, dtype=np.int32)
        return slots.reshape(-1)
