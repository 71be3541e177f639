"""The static prefix of an application: whole lines that nearly all its conversations begin with.

A prefix is cut back to whole lines, and for few conversations to the end of the system messages and tools:
what a handful of questions have in common by chance is not the application's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from radixadvisor.analysis.applications import Application, text_of
from radixadvisor.analysis.lock.conversations import Conversation, shared_by_most
from radixadvisor.diagnose.units import is_label, units
from radixadvisor.render.base import Origin, Piece
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace
from radixadvisor.trace.build import TOKEN_BYTES

__all__ = ["FEWEST", "LEAST", "Prefix", "Section", "prefix_hash", "prefix_of", "sections_of", "tokens_before"]

FEWEST = 3
"""Conversations that an application has at least for its prefix to be told."""

LEAST = 16
"""Tokens of its own, without the template's, that a prefix has at least."""

_MANY = 8
"""Conversations from which on the static part of user turns is told too."""

_HASH = 6
_GRID = 64


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a prompt: a tool, or the text of a message from one heading to the next.

    ``place`` is a JSON path; ``label`` a tool's name, else empty; ``lines`` a short hash of each line.
    """

    place: str
    label: str
    tokens: int
    lines: tuple[str, ...]

    @property
    def text(self) -> tuple[str, ...]:
        """Its lines up to the last one that is not empty."""
        empty = _short_hash("")
        size = len(self.lines)
        while size > 1 and self.lines[size - 1] == empty:
            size -= 1
        return self.lines[:size]


@dataclass(frozen=True, slots=True)
class Prefix:
    """``tokens`` from the start, their ``hash``, and the sections that they hold; the template's own text
    lies between these.
    """

    tokens: int
    hash: str
    sections: tuple[Section, ...]


class _Line(NamedTuple):
    """A line of a prompt; ``path`` is None for what the template adds, ``end`` its last character plus 1."""

    path: str | None
    text: str
    end: int


def prefix_of(trace: Trace, application: Application, conversations: Sequence[Conversation]) -> Prefix | None:
    """The static prefix of an application; None for too few conversations, or where less than ``LEAST``
    tokens of its text are static.
    """
    if len(conversations) < FEWEST:
        return None
    depth, index = shared_by_most(trace, conversations)
    measured = _Measured(trace, index)
    lines = _lines(trace, index)
    reach = measured.characters(depth)
    whole = [line for line in lines if line.end <= reach]
    if len(conversations) < _MANY:
        whole = _within_head(whole, application.head)
    sections = tuple(_sections(trace, index, whole, measured))
    if sum(section.tokens for section in sections) < LEAST:
        return None
    tokens = min(measured.tokens(whole[-1].end), depth)
    return Prefix(tokens, prefix_hash(trace, index, tokens), sections)


def sections_of(trace: Trace, index: int) -> tuple[Section, ...]:
    """All sections of one request's prompt, static or not."""
    return tuple(_sections(trace, index, _lines(trace, index), _Measured(trace, index)))


def tokens_before(trace: Trace, index: int, section: int, line: int) -> int:
    """Tokens of a prompt in front of a line of one of its sections, both counted from 0; all of the prompt's
    where it has no such line.
    """
    numbered = [(key, start) for key, _, start in _numbered(_lines(trace, index))]
    starts = [[start for _, start in members] for _, members in groupby(numbered, key=lambda item: item[0])]
    if section >= len(starts) or line >= len(starts[section]):
        return trace.lengths[index]
    return _Measured(trace, index).tokens(starts[section][line])


def prefix_hash(trace: Trace, index: int, tokens: int) -> str:
    """A hash of the first tokens of a prompt."""
    from xxhash import xxh3_64_hexdigest

    return xxh3_64_hexdigest(trace.head(index, tokens)[: tokens * TOKEN_BYTES])


def _within_head(lines: Sequence[_Line], head: int) -> list[_Line]:
    """Lines up to the first one that is neither of a tool nor of a leading system message."""
    allowed = {f"messages[{number}]" for number in range(head)}
    for number, line in enumerate(lines):
        if line.path is not None and not line.path.startswith("tools") and _message(line.path) not in allowed:
            return list(lines[:number])
    return list(lines)


def _message(path: str) -> str:
    return path.partition("]")[0] + "]" if "]" in path else path


def _lines(trace: Trace, index: int) -> list[_Line]:
    found = []
    end = 0
    for piece in _pieces(trace, index):
        path = None if piece.origin is None else piece.origin.path
        whole = path is None or path.startswith("tools")
        for text in (piece.text,) if whole else units(piece.text):
            end += len(text)
            found.append(_Line(path, text, end))
    return found


def _pieces(trace: Trace, index: int) -> Iterator[Piece]:
    request = trace.requests[index]
    pool = trace.pools[trace.pool_of[index]]
    assert isinstance(pool, SegmentPool)
    if request.messages is None:
        field = "prompt" if request.text is not None else "tokens"
        yield Piece(text_of(trace, index), Origin(field, 0))
        return
    for group in pool.renderer.groups(request):
        yield from pool.renderer.pieces(request, group)


def _numbered(lines: Sequence[_Line]) -> list[tuple[tuple[str, int], _Line, int]]:
    """Lines without the template's, each with what is the same for the lines of one section, and its first
    character.
    """
    number = start = 0
    found = []
    for line in lines:
        if line.path is not None:
            # A tool is one section; a heading begins another one within a message.
            number += not line.path.startswith("tools") and is_label(line.text)
            found.append(((line.path, number), line, start))
        start = line.end
    return found


def _sections(trace: Trace, index: int, lines: Sequence[_Line], measured: _Measured) -> Iterator[Section]:
    for (path, _), members in groupby(_numbered(lines), key=lambda item: item[0]):
        own = list(members)
        first, last = own[0][2], own[-1][1].end
        yield Section(
            place=path,
            label=_label(trace, index, path),
            tokens=measured.tokens(last) - measured.tokens(first),
            lines=tuple(_short_hash(line.text) for _, line, _ in own),
        )


def _label(trace: Trace, index: int, path: str) -> str:
    tools = trace.requests[index].tools
    if tools is None or not path.startswith("tools["):
        return ""
    return tools.tools[int(path[len("tools[") :].partition("]")[0])].name


def _short_hash(text: str) -> str:
    """A hash of a line without its end, so that a last line is the same as one in the middle."""
    from xxhash import xxh3_64_hexdigest

    return xxh3_64_hexdigest(text.removesuffix("\n").encode(errors="replace"))[:_HASH]


class _Measured:
    """Characters and tokens of one prompt against each other."""

    def __init__(self, trace: Trace, index: int) -> None:
        pool = trace.pools[trace.pool_of[index]]
        assert isinstance(pool, SegmentPool)
        self._decode = pool.tokenizer.decode
        self._prompt = trace.prompt(index)
        self._length = len(self._prompt) // TOKEN_BYTES
        self._grid: list[int] | None = None

    def characters(self, tokens: int) -> int:
        """Characters of the first tokens, without one that is cut."""
        return len(self._decode(self._prompt[: tokens * TOKEN_BYTES]).rstrip("\ufffd"))

    def tokens(self, characters: int) -> int:
        """The most tokens whose text lies within the first characters."""
        from bisect import bisect_right

        if self._grid is None:
            self._grid = [self.characters(at) for at in range(0, self._length + _GRID, _GRID)]
        low = max(bisect_right(self._grid, characters) - 1, 0) * _GRID
        high = min(low + _GRID, self._length)
        while low < high:
            middle = (low + high + 1) // 2
            if self.characters(middle) <= characters:
                low = middle
            else:
                high = middle - 1
        return low
