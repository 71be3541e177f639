"""Texts cut into the units that templates are made of: lines, the sentences of long lines, pieces of long
sentences, and section labels.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["LABELS", "is_label", "units"]

_LONG_LINE = 200
_LONG_SENTENCE = 400

LABELS = (
    "question|query|user question|user query|context|contexts|passages?|documents?|docs|sources?|excerpts?"
    "|chunks?|search results?|retrieved (?:context|documents?|passages?)|knowledge|references?|examples?"
    "|instructions?|rules|task|input|memory|memories|notes|history|conversation|tools|answer|output format"
)
"""Labels that head a section, as an alternation for regular expressions without regard to case."""

_LABEL = re.compile(rf"[#*\s]*(?:{LABELS})\**:\**(?=[ \t]*\S)", re.IGNORECASE)
_OPENING = re.compile(r"\s*(?:#{1,6} .*|<[\w-]+>)\s*$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE = re.compile(r".+?(?:[.!?][\"')\]]*[ \t]+|\n|$)", re.DOTALL)
_PIECE = re.compile(r"(?:\S+\s+){3}(?:\S*[^aes\s]\s+){0,16}(?:\S+\s*)|\S+\s*|\s+")


def is_label(unit: str) -> bool:
    """Whether a unit heads what follows: a known label, a heading, an opening tag."""
    return _LABEL.match(f"{unit.rstrip()} x") is not None or _OPENING.match(unit) is not None


@lru_cache(maxsize=2048)
def units(text: str) -> tuple[str, ...]:
    """The units of a text in order; joined they are the text again."""
    found: list[str] = []
    for line in _LINE.findall(text):
        label = _LABEL.match(line)
        if label is not None:
            found.append(label[0])
            line = line[label.end() :]
        if len(line) <= _LONG_LINE:
            found.append(line)
            continue
        for sentence in _SENTENCE.findall(line):
            if len(sentence) <= _LONG_SENTENCE:
                found.append(sentence)
            else:
                found += _PIECE.findall(sentence)
    return tuple(found)
