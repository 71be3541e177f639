"""Server-sent events, cut from a byte stream as it arrives."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["EventStream"]


class EventStream:
    """Collects bytes and gives the data of each complete event (WHATWG HTML, section 9.2).

    Lines end in CR, LF or both; several ``data`` lines of one event are joined by LF; comments and other
    fields are passed over.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The events that end within ``piece``."""
        held = self._rest + piece
        # A CR at the end may be the first half of a CR LF that is still to come.
        cut = held[-1:] == b"\r"
        lines = (held[:-1] if cut else held).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if cut else b"")
        for line in lines:
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))

    def close(self) -> Iterator[bytes]:
        """The event that a server ended without its empty line."""
        if self._rest:
            yield from self.feed(b"\n")
        yield from self.feed(b"\n\n")
