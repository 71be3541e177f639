"""The request table: for each running request, the slot of every position. Attention reads through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RequestTable:
    """``rows`` requests at once, up to ``width`` tokens each, page rounding included; int32 slots."""

    __slots__ = ("_free", "slots")

    def __init__(self, rows: int, width: int) -> None:
        import numpy as np

        if rows < 1 or width < 1:
            raise ValueError(f"a request table needs at least one row and one column, got {rows} x {width}")
        self.slots: NDArray[Any] = np.zeros((rows, width), dtype=np.int32)
        self._free = list(range(rows - 1, -1, -1))

    @property
    def free_rows(self) -> int:
        """Rows that no request uses."""
        return len(self._free)

    def acquire(self) -> int | None:
        """A row for a request; None if all are in use."""
        return self._free.pop() if self._free else None

    def release(self, row: int) -> None:
        """Give a row back."""
        self._free.append(row)

    def write(self, row: int, start: int, slots: NDArray[Any]) -> None:
        """Put ``slots`` at positions ``start`` and following."""
        if start + len(slots) > self.slots.shape[1]:
            raise ValueError(f"a request of {start + len(slots)} tokens in a table of {self.slots.shape[1]}")
        self.slots[row, start : start + len(slots)] = slots

    def read(self, row: int, start: int, stop: int) -> NDArray[Any]:
        """A view of the slots at positions ``start:stop``."""
        return self.slots[row, start:stop]
