"""A block of text as a list of items: documents, passages, notes, examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Items", "by_name", "is_examples", "is_permuted", "is_retrieved", "items_of"]

_NOUN = (
    "doc|document|passage|source|chunk|excerpt|result|snippet|article|reference|file|example|section|entry"
)
_HEAD = re.compile(
    rf"^[ \t]*(?:\[(?:(?:{_NOUN})\b[^\]\n]*|\d+)\]|(?:{_NOUN})\s*#?\s*\w*\s*[:.)]|#{{2,6}} |<(?:{_NOUN})\b)",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK = re.compile(r"\n[ \t]*\n")
_RETRIEVED = re.compile(
    r"passage|context|document|retriev|search result|knowledge|excerpt|snippet|\bsources?\b|\bdocs?\b|chunk"
    r"|reference|article",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"example|few[- ]?shot|demonstration", re.IGNORECASE)
_PAIR = re.compile(
    r"^[ \t]*(?:q|question|input|user)\s*:.*\n[ \t]*(?:a|answer|output|assistant)\s*:", re.I | re.M
)
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Items:
    """``lead`` stands before the first item; ``texts`` are the items without the white space between them,
    which is ``joiner``; ``trail`` is the white space at the end.
    """

    lead: str
    texts: tuple[str, ...]
    joiner: str
    trail: str

    def joined(self, texts: Sequence[str]) -> str:
        """The block with these items."""
        return self.lead + self.joiner.join(texts) + self.trail


def items_of(block: str) -> Items | None:
    """The items of a block by their headings, else its paragraphs, else its lines; None for fewer than 2."""
    body = block.rstrip()
    trail = block[len(body) :]
    starts = [match.start() for match in _HEAD.finditer(body)]
    if len(starts) > 1:
        lead = body[: starts[0]]
        cuts = [body[low:high] for low, high in pairwise([*starts, len(body)])]
    else:
        inner = body.lstrip()
        lead = body[: len(body) - len(inner)]
        cuts = _BLANK.split(inner)
        if len(cuts) < 2:
            cuts = inner.split("\n")
        if len(cuts) < 2:
            return None
        joiner = "\n\n" if _BLANK.search(inner) else "\n"
        return Items(lead, tuple(cut.strip("\n") for cut in cuts), joiner, trail)
    joiner = "\n\n" if any(_BLANK.search(cut[len(cut.rstrip()) :]) for cut in cuts[:-1]) else "\n"
    return Items(lead, tuple(cut.rstrip() for cut in cuts), joiner, trail)


def by_name(texts: Sequence[str]) -> list[str]:
    """Items in the order of their first words, numbers in them compared as numbers."""
    return sorted(texts, key=_natural)


def _natural(text: str) -> tuple[list[tuple[int, int, str]], str]:
    parts = _NUMBER.split(text[:200].casefold())
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts], text


def is_permuted(lists: Sequence[Sequence[str]]) -> tuple[float, float]:
    """How often items come again, and how often two lists that follow each other and share at least two items
    have them in different orders (both 0 to 1).
    """
    seen: set[str] = set()
    again = total = pairs = differ = 0
    latest: dict[str, Sequence[str]] = {}
    for items in lists:
        total += len(items)
        again += sum(item in seen for item in items)
        seen.update(items)
        before = next((latest[item] for item in items if item in latest), None)
        if before is not None:
            here, there = set(items), set(before)
            left = [item for item in before if item in here]
            right = [item for item in items if item in there]
            if len(left) > 1:
                pairs += 1
                differ += left != right
        latest.update(dict.fromkeys(items, items))
    return again / max(total, 1), differ / max(pairs, 1)


def is_retrieved(label: str, value: str) -> bool:
    """Whether a block is headed like retrieved text, or its items are."""
    return bool(_RETRIEVED.search(label) or len(_HEAD.findall(value)) > 1)


def is_examples(label: str, value: str) -> bool:
    """Whether a block is headed like examples, or made of questions with their answers."""
    return bool(_EXAMPLES.search(label) or len(_PAIR.findall(value)) > 1)
