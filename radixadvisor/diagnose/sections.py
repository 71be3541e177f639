"""The sections of one message: what stands under a heading or a label, between tags, or as JSON, and the text
beside them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from radixadvisor.diagnose.units import LABELS

__all__ = ["DEFINITIONS", "JSON", "REQUEST", "TEXT", "Section", "sections_of"]

TEXT = "text"
"""The name of the one stretch that stands in no section."""

REQUEST = "<request>"
"""The tag that text gets which would otherwise run into the section before it."""

DEFINITIONS = "{definitions}"
"""The name of a run of JSON objects that define tools."""

JSON = "{json}"
"""The name of any other run of JSON objects."""

_START = re.compile(
    r"^(?:(?P<heading>#{1,6} [^\n]*[^\W\d_][^\n]*)"
    r"|[ \t]*(?P<tag><[A-Za-z][\w-]*)(?:\s[^<>\n]*)?>[ \t]*(?=\n|$)"
    rf"|(?P<label>[*\s]*(?:{LABELS})\**:)|(?P<json>[{{\[]|```\w*[ \t]*\n\s*[{{\[]))",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD = re.compile(r"(?:\A|(?<=\n))([^\W\d_][\w /-]{0,30}:)(?=[ \t]*\S)")
_FENCE = re.compile(r"\s*(```\w*[ \t]*\n\s*)?")
_FENCE_END = re.compile(r"\s*```")
_LEAD = re.compile(r"(?:^|\n)([^\n]*\w[^\n]*:[ \t]*\n\s*)$")
_LONGEST_LEAD = 80
_SEPARATORS = re.compile(r"[\s,]*")
_DEFINES = ("parameters", "input_schema", "inputSchema", "arguments", "function")
_LEAST_JSON = 40
_DECODER = json.JSONDecoder()


class Section(NamedTuple):
    """``text[start:end]`` of a message. ``closed``: it says itself where it ends (a tag, JSON), so other text
    can follow it without a heading.
    """

    name: str
    start: int
    end: int
    closed: bool


@lru_cache(maxsize=2048)
def sections_of(text: str) -> tuple[Section, ...]:
    """The sections of a text, which they add up to; names differ, and are empty for none.

    What comes twice under one name is no section. Text beside sections is one itself if there is one stretch
    of it, else each stretch belongs to the section before it.
    """
    found = list(_marked(text)) or list(_fields(text))
    counts = Counter(section.name for section in found)
    found = [section for section in found if counts[section.name] == 1]
    if not found:
        return ()
    tiled: list[Section] = []
    at, free = 0, 0
    for number, section in enumerate(found):
        limit = found[number + 1].start if number + 1 < len(found) else len(text)
        if text[at : section.start].strip():
            tiled.append(Section(TEXT, at, section.start, False))
            free += 1
        end = min(section.end, limit) if section.closed else limit
        tiled.append(
            section._replace(start=at if not text[at : section.start].strip() else section.start, end=end)
        )
        at = end
    if text[at:].strip():
        tiled.append(Section(TEXT, at, len(text), False))
        free += 1
    elif at < len(text):
        tiled[-1] = tiled[-1]._replace(end=len(text))
    return tuple(tiled if free < 2 else _without_text(tiled))


def _without_text(tiled: list[Section]) -> Iterator[Section]:
    """Each stretch of text given to the section before it; one in front of all stays."""
    pending: Section | None = None
    for section in tiled:
        if section.name == TEXT and pending is not None:
            pending = pending._replace(end=section.end, closed=False)
            continue
        if pending is not None:
            yield pending
        pending = section
    if pending is not None:
        yield pending


def _marked(text: str) -> Iterator[Section]:
    """Sections as they begin; an open one ends where the next begins."""
    at, headed = 0, False
    while (match := _START.search(text, at)) is not None:
        start = match.start()
        at = match.end()
        if match["json"]:
            run = _run_at(text, start)
            if run is None:
                continue
            at = run.end
            if run.defines or not headed:
                yield Section(DEFINITIONS if run.defines else JSON, _introduced(text, start), at, True)
        elif match["tag"]:
            close = text.find(f"</{match['tag'][1:]}>", at)
            if close < 0:
                continue
            run = _run_at(text, at)
            defines = run is not None and run.defines and not text[run.end : close].strip()
            at = close + len(match["tag"]) + 2
            if defines or not headed:
                yield Section(DEFINITIONS if defines else f"{match['tag']}>", start, at, True)
        else:
            headed = True
            run = _run_at(text, at)
            if run is not None and run.defines:
                at = run.end
                yield Section(DEFINITIONS, start, at, True)
            elif match["heading"]:
                yield Section(" ".join(match["heading"].split()), start, len(text), False)
            else:
                yield Section(" ".join(match["label"].split()).casefold(), start, len(text), False)


def _fields(text: str) -> Iterator[Section]:
    """The fields of a text that is nothing but fields: a name of any kind and what stands behind it."""
    found = list(_FIELD.finditer(text))
    if len(found) > 1 and not text[: found[0].start()].strip():
        for match in found:
            yield Section(" ".join(match[1].split()).casefold(), match.start(), len(text), False)


def _introduced(text: str, start: int) -> int:
    """Where the line begins that leads in a block, such as ``Available tools:``; else the block's start."""
    lead = _LEAD.search(text, max(start - _LONGEST_LEAD, 0), start)
    return start if lead is None else lead.start(1)


class _Run(NamedTuple):
    """Where a run of JSON objects, or lists of them, ends, and whether all define tools."""

    end: int
    defines: bool


def _run_at(text: str, start: int) -> _Run | None:
    """The run that begins here, white space and a code fence aside; None for none of some length."""
    fence = _FENCE.match(text, start)
    assert fence is not None
    at = end = fence.end()
    defines = True
    while at < len(text) and text[at] in "{[":
        try:
            value, stop = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(item, dict) for item in items):
            break
        defines = defines and all(any(name in item for name in _DEFINES) for item in items)
        end = stop
        separator = _SEPARATORS.match(text, end)
        at = separator.end() if separator else end
    if end - fence.end() < _LEAST_JSON:
        return None
    closing = _FENCE_END.match(text, end) if fence[1] else None
    return _Run(closing.end() if closing else end, defines)
