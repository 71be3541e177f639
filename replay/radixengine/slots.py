"""Where a sequence's KV is, whichever cache serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from radixengine.blocks import BlockCache
from radixengine.cache import Sequence
from radixengine.host import Copies
from radixengine.options import EngineOptions
from radixengine.radix_cache import RadixCache
from radixengine.table import RequestTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Slots(Protocol):
    """Maps positions to slots."""

    def __call__(self, seq: Sequence, start: int, stop: int) -> NDArray[Any]:
        """int32 slots of positions ``start:stop`` of an admitted sequence; may be a view."""


class UncachedPool(RadixCache):
    """A radix cache that is switched off: slots as usual, but nothing is inserted or found."""

    def _limit(self, seq: Sequence) -> int:
        return 0

    def publish(self, seq: Sequence) -> None:
        """Note the computed tokens."""
        seq.computed = seq.state.taken

    def finish(self, seq: Sequence) -> None:
        """Free everything."""
        self.retract(seq)


def cache_with_slots(
    options: EngineOptions, rows: int, width: int, copies: Copies | None
) -> tuple[RadixCache | BlockCache, Slots]:
    """The cache that the options ask for, with real slots below ``options.capacity``.

    ``rows`` sequences of at most ``width`` tokens can hold slots at once. ``copies`` moves KV to the host.
    """
    page = options.profile.page_size
    if options.cache == "blocks":
        # One block more is the null block, which holds nothing.
        return BlockCache(options.capacity // page + 1, page), _in_blocks
    table = RequestTable(rows, width)

    def in_row(seq: Sequence, start: int, stop: int) -> NDArray[Any]:
        return table.read(seq.state.row, start, stop)

    kind = RadixCache if options.cache == "radix" else UncachedPool
    return kind(options.capacity, options.profile, table, copies), in_row


def _in_blocks(seq: Sequence, start: int, stop: int) -> NDArray[Any]:
    import numpy as np

    size = seq.state.step // 4
    first = start // size
    blocks = np.array(seq.state.blocks[first : -(-stop // size)], dtype=np.int32)
    slots: NDArray[Any] = (blocks[:, None] * size + np.arange(size, dtype=np.int32)).reshape(-1)
    return slots[start - first * size : stop - first * size]
