"""A lock against a later log: which application is which, and whether its prompts still begin as locked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from radixadvisor.analysis.lock.file import Lock, Locked
from radixadvisor.analysis.lock.measured import Found
from radixadvisor.analysis.lock.prefixes import Section, sections_of, tokens_before
from radixadvisor.records import Source
from radixadvisor.trace import Trace

__all__ = ["HELD", "Compared", "Comparison", "compare"]

HELD = 0.9
"""The share of its conversations that begin with a locked prefix at least."""

_ALIKE = 0.3
_SAME_TOOLS = 0.5


@dataclass(frozen=True, slots=True)
class Compared:
    """A locked application that is in the log.

    ``share`` of its ``conversations`` begin with the locked prefix; None where the log's tokens are not those
    of the lock. ``now_tokens`` is its static prefix in this log, None for too few conversations.
    ``shared_tokens`` is how much of the locked prefix the first conversation without it still has (None where
    the template's own text parts them), ``place`` where it parts, ``changes`` what became of the sections,
    ``source`` where that conversation stands; all of these are empty where the prefix held.
    """

    locked: Locked
    conversations: int
    share: float | None
    now_tokens: int | None
    shared_tokens: int | None = None
    place: str = ""
    changes: tuple[str, ...] = ()
    source: Source | None = None

    @property
    def holds(self) -> bool:
        """Whether enough conversations begin as locked."""
        return self.share is not None and self.share >= HELD


@dataclass(frozen=True, slots=True)
class Comparison:
    """All locked applications that are in the log, those that are not, and those that are new in it."""

    compared: tuple[Compared, ...]
    vanished: tuple[Locked, ...]
    new: tuple[Found, ...]


def compare(trace: Trace, lock: Lock, found: Sequence[Found]) -> Comparison:
    """Compare a log with a lock.

    An application is recognised by the locked prefix itself; else by the log's name for it, by lines of its
    sections wherever they stand now, or by its tools. Where a locked application is gone and a new one has
    appeared on its model, with tools or without like it, the two are compared as well: a prompt that was
    rewritten as a whole leaves nothing else to go by.

    Args:
        trace: the log.
        lock: what to hold it to.
        found: the applications of the log.
    """
    pairs = _matched(trace, lock, found)
    taken = {id(item) for members in pairs.values() for item in members}
    return Comparison(
        compared=tuple(
            _compared(trace, locked, pairs[number])
            for number, locked in enumerate(lock.applications)
            if number in pairs
        ),
        vanished=tuple(item for number, item in enumerate(lock.applications) if number not in pairs),
        new=tuple(item for item in found if item.prefix is not None and id(item) not in taken),
    )


def _matched(trace: Trace, lock: Lock, found: Sequence[Found]) -> dict[int, list[Found]]:
    """For each locked application, by number, those of the log that are it."""
    pairs: dict[int, list[Found]] = {}
    left = list(found)
    for number, locked in enumerate(lock.applications):
        own = [
            item for item in left if item.counted_as(locked) and 2 * item.holding(trace, locked) >= item.size
        ]
        if own:
            pairs[number] = own
            left = [item for item in left if not any(item is other for other in own)]
    lines = {id(item): _lines(sections_of(trace, item.reference)) for item in left}
    scores = [
        (score, -number, -place)
        for number, locked in enumerate(lock.applications)
        if number not in pairs
        for place, item in enumerate(left)
        if (score := _likeness(locked, item, lines[id(item)])) > 0
    ]
    gone = set()
    for _, minus_number, minus_place in sorted(scores, reverse=True):
        number, place = -minus_number, -minus_place
        if number not in pairs and place not in gone:
            pairs[number] = [left[place]]
            gone.add(place)
    rest = [item for place, item in enumerate(left) if place not in gone and item.prefix is not None]
    for number, locked in enumerate(lock.applications):
        if number not in pairs:
            alike = [
                item for item in rest if item.model == locked.model and bool(item.tools) == bool(locked.tools)
            ]
            if alike:
                pairs[number] = alike[:1]
                rest = [item for item in rest if item is not alike[0]]
    return pairs


def _lines(sections: Sequence[Section]) -> frozenset[str]:
    return frozenset(line for section in sections for line in section.lines)


def _likeness(locked: Locked, item: Found, lines: frozenset[str]) -> float:
    """How much speaks for a locked application and one of the log being the same; 0 if too little."""
    own = _lines(locked.prefix.sections)
    overlap = len(own & lines) / len(own) if own else 0.0
    union = set(locked.tools) | set(item.tools)
    tools = len(set(locked.tools) & set(item.tools)) / len(union) if union else 0.0
    same_name = bool(locked.name) and locked.name == item.name
    if not (same_name or overlap >= _ALIKE or tools >= _SAME_TOOLS):
        return 0.0
    return overlap + tools + 2 * same_name + 0.5 * (locked.model == item.model)


def _compared(trace: Trace, locked: Locked, members: Sequence[Found]) -> Compared:
    size = sum(item.size for item in members)
    now = max(members, key=lambda item: item.size).prefix
    now_tokens = None if now is None else now.tokens
    if not all(item.tokenizer == locked.tokenizer for item in members):
        return Compared(locked, size, None, now_tokens)
    share = sum(item.holding(trace, locked) for item in members) / size
    if share >= HELD:
        return Compared(locked, size, share, now_tokens)
    index = next(index for item in members if (index := item.first_without(trace, locked)) is not None)
    sections = sections_of(trace, index)
    section, line, place = _parting(locked.prefix.sections, sections)
    shared = None
    if section < len(locked.prefix.sections):
        shared = min(tokens_before(trace, index, section, line), locked.prefix.tokens)
    changes = tuple(_changes(locked.prefix.sections, sections))
    templates = {item.template_hash for item in members}
    if templates != {locked.template_hash}:
        changes = (f"the chat template is another one ({locked.template} when locked)", *changes)
    return Compared(locked, size, share, now_tokens, shared, place, changes, trace.requests[index].source)


def _parting(locked: Sequence[Section], now: Sequence[Section]) -> tuple[int, int, str]:
    """Section and line (from 0) at which a prompt leaves the locked one, and that in words."""
    for number, section in enumerate(locked):
        where = f"section {number + 1} of {len(locked)} ({_told(section)})"
        if number >= len(now):
            return number, 0, f"{where}: the prompt ends before it"
        other = now[number]
        if other.place == section.place and other.lines[: len(section.lines)] == section.lines:
            continue
        pairs = zip(section.lines, other.lines, strict=False)
        line = next(
            (at for at, pair in enumerate(pairs) if pair[0] != pair[1]),
            min(len(section.lines), len(other.lines)),
        )
        told = f"{where}, line {line + 1}"
        return (
            number,
            line,
            told if _told(other) == _told(section) else f"{told}: {_told(other)} is there now",
        )
    return len(locked), 0, "the template's own text, or white space between sections"


def _told(section: Section) -> str:
    return f"{section.place}, tool {section.label}" if section.label else section.place


def _changes(locked: Sequence[Section], now: Sequence[Section]) -> Iterator[str]:
    """What became of the sections: moved, changed, gone."""
    places: dict[tuple[str, ...], int] = {}
    for number, section in enumerate(now):
        places.setdefault(section.text, number)
    kept = [(number, places[part.text]) for number, part in enumerate(locked) if part.text in places]
    order = [place for _, place in kept]
    if order != sorted(order):
        shown = " ".join(str(number + 1) for number, _ in sorted(kept, key=lambda pair: pair[1]))
        yield f"the locked sections come in another order: {shown}"
    lost = [number for number, part in enumerate(locked) if part.text not in places]
    lines, labels = _lines(now), {section.label for section in now if section.label}
    edited = [
        number
        for number in lost
        if locked[number].label in labels
        or 2 * len(lines & set(locked[number].text)) >= len(locked[number].text)
    ]
    for title, numbers in (("changed", edited), ("gone", [at for at in lost if at not in edited])):
        if numbers:
            yield f"{title}: section {', '.join(str(number + 1) for number in numbers)}"
    # The last section may go on where the lock stopped: what comes up to it is the locked prefix's.
    known = {part.text for part in locked}
    added = sum(part.text not in known for part in now[: max(order, default=0)]) - len(edited)
    if added > 0:
        yield f"{added} more before the last of them"
