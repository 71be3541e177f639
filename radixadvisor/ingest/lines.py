"""Logs that are written as text: their lines as records, so that a dialect can read what a server prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from .dialect import Dialect
from .dialects import registry
from .files import ByteStream
from .framing import Frame, is_json, lines_of
from .raw import Fields, Unusable, first_byte, string

__all__ = ["LINE", "has_lines", "line_frames", "line_in"]

LINE = "log_line"
_LOOK_AT = 2000  # lines of the head: servers print a lot before the first request
# Where collectors keep the line that they wrapped.
_WRAPPED = (LINE, "log", "message", "msg", "MESSAGE", "line", "textPayload", "@message", "_raw")


@cache
def _textual() -> tuple[Dialect, ...]:
    return tuple(dialect for dialect in registry().values() if dialect.lines is not None)


def has_lines(head: bytes) -> bool:
    """Whether the head of a stream holds a line of a dialect that is written as text, and is no JSON."""
    start = head.lstrip()
    if start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"[", b'"'):
        return False
    if start[:1] == b"{" and not is_json(start.split(b"\n", 1)[0]):
        return False
    for line in head.split(b"\n")[:_LOOK_AT]:
        if line.lstrip()[:1] == b"{":
            continue
        text = line.decode(errors="replace")
        if any(dialect.lines and dialect.lines.search(text) for dialect in _textual()):
            return True
    return False


def line_frames(stream: ByteStream) -> Iterator[Frame]:
    """The lines of a text log as records; a line that is a JSON object stays what it is."""
    begun = False
    for frame in lines_of(stream):
        if frame.fault is not None or (frame.data.lstrip()[:1] == b"{" and is_json(frame.data)):
            yield frame
            continue
        try:
            text = frame.data.decode().rstrip("\r")
        except UnicodeDecodeError as fault:
            yield Frame(f"byte {fault.start + 1}".encode(), frame.line, "not valid UTF-8")
            continue
        # What a server prints before its first request is its start, and would hide the dialect.
        begun = begun or any(dialect.lines and dialect.lines.search(text) for dialect in _textual())
        if begun:
            yield Frame(msgspec.json.encode({LINE: text}), frame.line)


def line_in(record: Fields) -> str | None:
    """The text line that a record is or wraps."""
    for key in _WRAPPED:
        raw = record.get(key)
        if raw is not None and first_byte(raw) == 0x22:
            try:
                return string(raw)
            except Unusable:
                continue
    return None
