"""KV on the device and on the host: one row of keys and values per token slot and layer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from radixengine.shapes import ModelShape

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


class KVMemory:
    """``keys`` and ``values`` [layers, capacity + 1, kv_heads, head_dim]; the last slot is the dummy.

    Nothing is ever written to the dummy slot: it pads what is read, and stays zero.

    Raises:
        ValueError: the device has no room for it.
    """

    def __init__(self, shape: ModelShape, capacity: int, device: torch.device, dtype: torch.dtype) -> None:
        self.device = device
        self.dummy = capacity
        size = (2, shape.layers, capacity + 1, shape.kv_heads, shape.head_dim)
        self._both = _zeros(size, dtype, device, "KV pool", capacity)
        self.keys, self.values = self._both[0], self._both[1]

    def index(self, slots: NDArray[Any]) -> Tensor:
        """int64 slot numbers on the device."""
        return torch.from_numpy(slots.astype(np.int64)).to(self.device)

    def store(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Put rows [n, kv_heads, head_dim] into slots [n]."""
        self.keys[layer].index_copy_(0, slots, k)
        self.values[layer].index_copy_(0, slots, v)

    def read(self, slots: Tensor) -> Tensor:
        """[n, 2, layers, kv_heads, head_dim] of slots [n]."""
        return self._both.index_select(2, slots).permute(2, 0, 1, 3, 4).contiguous()

    def write(self, slots: Tensor, rows: Tensor) -> None:
        """The inverse of ``read``."""
        self._both.index_copy_(2, slots, rows.permute(1, 2, 0, 3, 4))


class HostMemory:
    """Host rows [capacity, 2, layers, kv_heads, head_dim] and the copies between them and the device's slots.

    On CUDA the rows are pinned and copied on a stream of their own; ``fence`` makes the next pass wait for
    what is under way. ``loaded`` counts tokens brought back, ``seconds`` their copies.
    """

    def __init__(self, memory: KVMemory, shape: ModelShape, capacity: int) -> None:
        self._memory = memory
        size = (capacity, 2, shape.layers, shape.kv_heads, shape.head_dim)
        on_cuda = memory.device.type == "cuda"
        host = torch.device("cpu")
        self._rows = _zeros(size, memory.keys.dtype, host, "host tier", capacity, pinned=on_cuda)
        self._stream: torch.cuda.Stream | None = None
        if on_cuda:
            self._stream = torch.cuda.Stream(memory.device)  # type: ignore[no-untyped-call]
        self._timed: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self._seconds = 0.0
        self.loaded = 0

    @property
    def seconds(self) -> float:
        """Seconds that loads took, on the copy stream if there is one."""
        if self._stream is not None:
            self._stream.synchronize()
            self._seconds += sum(begin.elapsed_time(end) for begin, end in self._timed) / 1e3
            self._timed.clear()
        return self._seconds

    def to_host(self, device: NDArray[Any], host: NDArray[Any]) -> None:
        """Copy the KV in the device's slots to the host's."""
        with self._copying():
            rows = self._memory.read(self._memory.index(device))
            for at, first, count in _runs(host):
                self._rows[first : first + count].copy_(rows[at : at + count], non_blocking=True)

    def to_device(self, host: NDArray[Any], device: NDArray[Any]) -> None:
        """Copy the KV in the host's slots to the device's."""
        begin = perf_counter()
        with self._copying():
            start = self._mark()
            rows = torch.empty(
                (len(host), *self._rows.shape[1:]), dtype=self._rows.dtype, device=self._memory.device
            )
            for at, first, count in _runs(host):
                rows[at : at + count].copy_(self._rows[first : first + count], non_blocking=True)
            self._memory.write(self._memory.index(device), rows)
            end = self._mark()
        self.loaded += len(host)
        if start is not None and end is not None:
            self._timed.append((start, end))
        else:
            self._seconds += perf_counter() - begin

    def fence(self) -> None:
        """Work given to the device from now on sees every copy done."""
        if self._stream is not None:
            torch.cuda.current_stream(self._memory.device).wait_stream(self._stream)

    def _copying(self) -> AbstractContextManager[object]:
        """The copy stream, once it has waited for the passes before."""
        if self._stream is None:
            return nullcontext()
        self._stream.wait_stream(torch.cuda.current_stream(self._memory.device))
        return torch.cuda.stream(self._stream)

    def _mark(self) -> torch.cuda.Event | None:
        if self._stream is None:
            return None
        event: torch.cuda.Event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(self._stream)
        return event


def _runs(slots: NDArray[Any]) -> list[tuple[int, int, int]]:
    """(position, first slot, count) of every run of consecutive slots."""
    starts = [0, *(np.flatnonzero(np.diff(slots) != 1) + 1).tolist()]
    ends = [*starts[1:], len(slots)]
    return [(start, int(slots[start]), end - start) for start, end in zip(starts, ends, strict=True)]


def _zeros(
    size: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
    what: str,
    capacity: int,
    *,
    pinned: bool = False,
) -> Tensor:
    try:
        return torch.zeros(size, dtype=dtype, device=device, pin_memory=pinned)
    except RuntimeError as error:
        gib = int(np.prod(size)) * dtype.itemsize / 2**30
        raise ValueError(
            f"No room for a {what} of {capacity} tokens ({gib:.1f} GiB); ask for fewer."
        ) from error
