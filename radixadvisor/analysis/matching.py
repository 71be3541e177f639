"""Which findings of two reports are the same fault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.analysis.saved import Saved, SavedFinding

__all__ = ["Matched", "match_findings"]

_MESSAGE = re.compile(r"^messages\[(?!0\])\d+\]")
_INDEX = re.compile(r"(?<!^messages)\[\d+\]")


@dataclass(frozen=True, slots=True)
class Matched:
    """Findings of the first report alone, of the second alone, and pairs of both."""

    gone: tuple[SavedFinding, ...]
    new: tuple[SavedFinding, ...]
    still: tuple[tuple[SavedFinding, SavedFinding], ...]


def match_findings(before: Saved, after: Saved) -> Matched:
    """Pair findings by rule, place and application.

    A place is a path without the numbers that change from request to request: ``messages[7].content`` and
    ``messages[9].content`` are one, ``messages[0].content`` is another. Two applications of different ids are
    the same only where the other report knows neither: a line that an id comes from may have been changed.
    """
    known = [
        {item.id for item in report.applications} | {item.application for item in report.findings}
        for report in (before, after)
    ]
    groups: dict[tuple[str, str], tuple[list[SavedFinding], list[SavedFinding]]] = {}
    for side, report in enumerate((before, after)):
        for item in report.findings:
            groups.setdefault((item.rule, _place(item)), ([], []))[side].append(item)
    gone: list[SavedFinding] = []
    new: list[SavedFinding] = []
    still: list[tuple[SavedFinding, SavedFinding]] = []
    for olds, news in groups.values():
        pairs = _pairs(olds, news, known[0], known[1])
        still += [(olds[left], news[right]) for left, right in pairs]
        lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
        gone += [item for number, item in enumerate(olds) if number not in lefts]
        new += [item for number, item in enumerate(news) if number not in rights]
    return Matched(
        tuple(sorted(gone, key=_rank)),
        tuple(sorted(new, key=_rank)),
        tuple(sorted(still, key=lambda pair: _rank(pair[1]))),
    )


def _place(item: SavedFinding) -> str:
    return _INDEX.sub("[*]", _MESSAGE.sub("messages[+]", item.where.path))


def _rank(item: SavedFinding) -> tuple[int, str, str, str]:
    return -item.lost_tokens, item.rule, item.application, item.where.path


def _pairs(
    olds: Sequence[SavedFinding], news: Sequence[SavedFinding], known_before: set[str], known_after: set[str]
) -> list[tuple[int, int]]:
    """Indices of the same faults of one rule at one place, the costliest of equals first."""
    lefts = sorted(range(len(olds)), key=lambda number: _rank(olds[number]))
    rights = sorted(range(len(news)), key=lambda number: _rank(news[number]))
    pairs: list[tuple[int, int]] = []
    for same in (_equal, lambda old, new: _may_be(old, new, known_before, known_after)):
        for left in list(lefts):
            right = next((right for right in rights if same(olds[left], news[right])), None)
            if right is not None:
                pairs.append((left, right))
                lefts.remove(left)
                rights.remove(right)
    return pairs


def _equal(old: SavedFinding, new: SavedFinding) -> bool:
    return old.application == new.application


def _may_be(old: SavedFinding, new: SavedFinding, known_before: set[str], known_after: set[str]) -> bool:
    if not old.application or not new.application:
        return True
    return old.application not in known_after and new.application not in known_before
