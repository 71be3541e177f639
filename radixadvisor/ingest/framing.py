"""Cutting a stream of text into JSON records: lines, the elements of one array, or values one after another.

Memory holds one chunk and one record, whatever the size of the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from .files import ByteStream
from .raw import Unusable, parse

__all__ = ["Frame", "form_of", "frames", "is_json", "lines_of", "values"]

LONGEST = 1 << 28  # bytes in one record; beyond it the input is no log but a hole
_LONGEST_SCALAR = 1 << 20
_RESCUES = 16

# To the next bracket outside a string, or the quote of a string that does not end here.
_SKIP = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BLANK = re.compile(rb"[\s,\x1e]*+")
# What stands where an object should: in an array a string or a word, elsewhere the rest of a line.
_ELEMENT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^,\[\]{}"]++|[^"]', re.DOTALL)
_RUBBISH = re.compile(rb"[^\n{\[]++")
_RAW = msgspec.json.Decoder(msgspec.Raw)
_OPEN, _CLOSE, _BRACKET, _QUOTE = b"{[", b"}]", ord("["), ord('"')


class Frame(NamedTuple):
    """One record, or what is wrong where one should be: then ``fault`` is the reason, ``data`` a detail."""

    data: bytes
    line: int
    fault: str | None = None


def is_json(data: bytes) -> bool:
    """Whether the bytes are exactly one JSON value."""
    try:
        _RAW.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def frames(stream: ByteStream) -> Iterator[Frame]:
    """The records of a text stream; how they are separated is told from its head."""
    form = form_of(stream.head)
    return lines_of(stream) if form == "lines" else values(stream, array=form == "array")


def form_of(head: bytes) -> str:
    """How the records of a stream are separated, told from its head: ``lines``, ``array`` or ``values``."""
    text = head.lstrip()
    lines = text.split(b"\n")
    alone = len(lines) == 1
    whole = lines if alone else lines[:-1]
    first = whole[0].strip()
    if text.startswith(b"["):
        second = next((line for line in whole[1:] if line.strip()), b"")
        if is_json(first) and second.startswith(b"["):
            return "lines"
        element = text[1:].lstrip()
        value = next(_cut(element), None) if element.startswith(b"{") else None
        # A list of turns is one conversation; a list of anything else is a list of records.
        return "values" if value and _is_turn(value) else "array"
    if not text.startswith(b"{"):
        return "lines"
    if any(line.startswith(b"{") and len(line.strip()) > 2 and is_json(line) for line in whole):
        return "lines"
    # Neither a whole object on any line: one that spans lines, or lines that are all damaged.
    begun = [line for line in whole if line.strip()]
    spans = len(begun) > 1 and not begun[1].startswith(b"{")
    return "values" if alone or spans or first == b"{" else "lines"


def _is_turn(data: bytes) -> bool:
    """Whether an object is a message and not a request."""
    try:
        fields = parse(data)
    except Unusable:
        return False
    return "role" in fields and "messages" not in fields


def _cut(data: bytes) -> Iterator[bytes]:
    for frame in values(iter([data]), array=False):
        if frame.fault is None:
            yield frame.data


def lines_of(stream: ByteStream) -> Iterator[Frame]:
    """The lines of a stream that are not blank."""
    line = 1
    pending: list[bytes] = []
    held = 0
    dropping = False
    for chunk in stream:
        parts = chunk.split(b"\n")
        if len(parts) > 1:
            if dropping:
                dropping = False
            elif pending:
                parts[0] = b"".join(pending) + parts[0]
                if not parts[0].isspace():
                    yield Frame(parts[0], line)
            elif parts[0] and not parts[0].isspace():
                yield Frame(parts[0], line)
            for part in parts[1:-1]:
                line += 1
                if part and not part.isspace():
                    yield Frame(part, line)
            line += 1
            pending, held = [], 0
        if parts[-1] and not dropping:
            pending.append(parts[-1])
            held += len(parts[-1])
            if held > LONGEST:
                yield Frame(b"more than 256 MiB", line, "record too long")
                pending, held, dropping = [], 0, True
    last = b"".join(pending)
    if stream.damage is not None:
        if last and is_json(last):
            yield Frame(last, line)
        yield Frame(stream.damage.encode(), line, "input ends too early")
    elif last and not last.isspace():
        yield Frame(last, line)


def values(stream: ByteStream | Iterator[bytes], array: bool) -> Iterator[Frame]:
    """JSON values that follow one another in any layout, or the elements of arrays.

    Args:
        stream: the chunks.
        array: whether top-level arrays are lists of records; a frame's ``line`` then counts elements.

    A value that never closes is reported, and reading goes on at the next line that begins one.
    """
    scanner = _Scanner(array)
    for chunk in stream:
        yield from scanner.feed(chunk)
    yield from scanner.end(stream.damage if isinstance(stream, ByteStream) else None)


class _Scanner:
    """Finds where values end: jumps from bracket to bracket outside strings, looking at each byte once."""

    def __init__(self, array: bool) -> None:
        self.array = array
        self.inside = False  # of a top-level array
        self.buffer = bytearray()
        self.position = 0  # the first byte not looked at
        self.start = -1  # of the value being read
        self.level = 0
        self.quoted = False
        self.line = 1
        self.counted = 0  # newlines before this position are in ``line``
        self.element = 0
        self.rescues = 0

    def _place(self, position: int) -> int:
        if self.array:
            self.element += 1
            return self.element
        self.line += self.buffer.count(b"\n", self.counted, position)
        self.counted = position
        return self.line

    def _compact(self) -> None:
        keep = self.position if self.start < 0 else self.start
        if not self.array and self.counted < keep:
            self.line += self.buffer.count(b"\n", self.counted, keep)
            self.counted = keep
        del self.buffer[:keep]
        self.position -= keep
        self.counted = max(0, self.counted - keep)
        self.start = -1 if self.start < 0 else 0

    def feed(self, chunk: bytes, last: bool = False) -> Iterator[Frame]:
        self._compact()
        self.buffer += chunk
        while True:
            if self.start < 0:
                if not self._between():
                    return
                if self.start < 0:
                    end = self._scalar_end(last)
                    if end < 0:
                        return
                    frame = Frame(bytes(self.buffer[self.position : end]), self._place(self.position))
                    self.position = end
                    yield frame
                    continue
            if not self._within():
                break
            data = bytes(self.buffer[self.start : self.position])
            if self.rescues < _RESCUES and b"\n{" in data and not is_json(data):
                # An open string or bracket made it swallow its successors.
                yield self._given_up(b"a value that swallows the next one", "not valid JSON")
                continue
            frame = Frame(data, self._place(self.start))
            self.start = -1
            yield frame
        if len(self.buffer) - self.start > LONGEST:
            yield self._given_up(b"more than 256 MiB", "record too long")
            yield from self.feed(b"", last)

    def _between(self) -> bool:
        """Move to the next value; False where more input is needed first."""
        buffer = self.buffer
        while True:
            self.position = _BLANK.match(buffer, self.position).end()  # type: ignore[union-attr]
            if self.position == len(buffer):
                return False
            byte = buffer[self.position]
            if self.array and not self.inside and byte == _BRACKET:
                self.inside = True
            elif self.inside and byte == _CLOSE[1]:
                self.inside = False
            else:
                break
            self.position += 1
        if byte in _OPEN:
            self.start, self.level, self.quoted = self.position, 1, False
            self.position += 1
        return True

    def _scalar_end(self, last: bool) -> int:
        """Where something that is no object ends; -1 where more input is needed to tell."""
        size = len(self.buffer)
        found = (_ELEMENT if self.inside else _RUBBISH).match(self.buffer, self.position)
        end = size if found is None else found.end()
        quoted = self.inside and found is not None and self.buffer[self.position] == _QUOTE
        if end < size or quoted or last or end - self.position > _LONGEST_SCALAR:
            return end
        return -1

    def _within(self) -> bool:
        """Move to the end of the value; False where more input is needed first."""
        buffer, size, position, level = self.buffer, len(self.buffer), self.position, self.level
        while level:
            if self.quoted:
                position = _STRING.match(buffer, position).end()  # type: ignore[union-attr]
                if position == size or buffer[position] != _QUOTE:
                    break
                self.quoted = False
                position += 1
            position = _SKIP.match(buffer, position).end()  # type: ignore[union-attr]
            if position == size:
                break
            byte = buffer[position]
            position += 1
            if byte == _QUOTE:
                self.quoted = True
            elif byte in _OPEN:
                level += 1
            else:
                level -= 1
        self.position, self.level = position, level
        return level == 0

    def end(self, damage: str | None) -> Iterator[Frame]:
        yield from self.feed(b"", last=True)
        while self.start >= 0:
            detail = b"a value that never ends" if damage is None else damage.encode()
            yield self._given_up(detail, "input ends too early")
            yield from self.feed(b"", last=True)
            damage = None
        if damage is not None:
            yield Frame(damage.encode(), max(1, self._place(self.position)), "input ends too early")

    def _given_up(self, detail: bytes, reason: str) -> Frame:
        """Leave the value being read and go to the next line that begins one; to the end after some times."""
        self.rescues += 1
        place = self._place(self.start)
        found = self.buffer.find(b"\n{", self.start) if self.rescues <= _RESCUES else -1
        self.position = len(self.buffer) if found < 0 else found + 1
        self.start = -1
        return Frame(detail, place, reason)
