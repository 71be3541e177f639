"""What stays and what varies in one message of an application: its anchors, and the slots between them.

An anchor is a unit of text that nearly all texts hold exactly once. A slot is what stands between two anchors
that nearly always follow each other; it varies if its texts differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from radixadvisor.diagnose.units import is_label, units
from radixadvisor.diagnose.zones import find_block

__all__ = ["SAMPLE", "Gap", "Template", "by_labels", "template_of"]

SAMPLE = 120
_ANCHOR_SHARE = 0.9
_PAIR_SHARE = 0.8
_LABEL_SHARE = 0.1
_LITERALS = (48, 120, 400)
_START, _END = "\x02", "\x03"
_OPEN = re.compile(r"\s*<([\w-]+)[^<>]*>\s*$")
_CLOSE = re.compile(r"\s*</([\w-]+)>\s*$")
_HEADING = re.compile(r"\s*(#{1,6} .*|\**[\w][\w /()-]{0,40}:\**)\s*$")


@dataclass(frozen=True, slots=True)
class Gap:
    """A slot of a template.

    ``before`` and ``after`` are the literals around what varies; ``outer_before`` and ``outer_after`` those
    around the whole block, its tags or heading included; ``label`` is that tag or heading; ``static_after``
    counts the characters of anchors behind it; ``following`` is the text right behind it up to the next slot
    or the end, empty where that varies.
    """

    before: str
    after: str
    outer_before: str
    outer_after: str
    label: str
    static_after: int
    following: str


@dataclass(frozen=True, slots=True)
class Template:
    """Anchors in their most frequent order, whether (nearly) all texts keep that order, and the slots.

    ``runs`` are anchors that follow each other in nearly all texts, in that order.
    """

    anchors: tuple[str, ...]
    ordered: float
    gaps: tuple[Gap, ...]
    runs: tuple[tuple[str, ...], ...]
    sample: tuple[str, ...]


def template_of(texts: Sequence[str]) -> Template | None:
    """The template of distinct texts; None for fewer than two, or without any anchor.

    Args:
        texts: distinct, in order of arrival; at most ``SAMPLE`` of them, evenly spread, are looked at.
    """
    if len(texts) < 2:
        return None
    sample = _sample(texts)
    cut = [units(text) for text in sample]
    seen: Counter[str] = Counter()
    for parts in cut:
        counts = Counter(parts)
        seen.update(part for part, count in counts.items() if count == 1 and _tells(part))
    anchors = {part for part, count in seen.items() if count >= _ANCHOR_SHARE * len(sample)}
    orders = [(_START, *[part for part in parts if part in anchors], _END) for parts in cut]
    if not anchors:
        return Template((), 1.0, (), (), tuple(sample))
    frequent = Counter(orders).most_common(1)[0]
    pairs = Counter(pair for order in orders for pair in pairwise(order))
    follows = {left: right for (left, right), n in pairs.items() if n >= _PAIR_SHARE * len(sample)}
    gaps = [
        gap
        for left, right in follows.items()
        if (gap := _gap(left, right, frequent[0], sample, follows)) is not None
    ]
    return Template(
        anchors=frequent[0][1:-1],
        ordered=frequent[1] / len(sample),
        gaps=tuple(sorted(gaps, key=lambda gap: -gap.static_after)),
        runs=_runs(frequent[0][1:-1], follows),
        sample=tuple(sample),
    )


def by_labels(texts: Sequence[str]) -> list[list[str]]:
    """Texts apart by the labels, headings and tags that they hold, as far as a tenth of them hold one.

    One application may send turns of several makes: questions with documents, say, and questions alone.
    """
    if len(texts) < 2:
        return [list(texts)]
    marks = {text: frozenset(part for part in units(text) if is_label(part)) for text in _sample(texts)}
    counts = Counter(mark for found in marks.values() for mark in found)
    frequent = [mark for mark, count in sorted(counts.items()) if count >= _LABEL_SHARE * len(marks)]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for text in texts:
        groups.setdefault(tuple([mark in text for mark in frequent]), []).append(text)
    return list(groups.values())


def _sample(texts: Sequence[str]) -> list[str]:
    step = max(len(texts) / SAMPLE, 1.0)
    return [texts[int(number * step)] for number in range(min(len(texts), SAMPLE))]


def _tells(unit: str) -> bool:
    return sum(map(str.isalnum, unit)) >= 2


def _gap(
    left: str, right: str, order: Sequence[str], sample: Sequence[str], follows: dict[str, str]
) -> Gap | None:
    before, after = _literal_before(left, right, sample), _literal_after(right)
    values = {_between(text, before, after) for text in sample} - {None}
    if len(values) < 2:
        return None
    outer_left, outer_right, label = left, right, ""
    leads = {right: left for left, right in follows.items()}
    opening, closing = _OPEN.match(left), _CLOSE.match(right)
    if opening and closing and opening[1] == closing[1] and left in leads and right in follows:
        outer_left, outer_right, label = leads[left], follows[right], left.strip()
    elif (
        left in leads
        and _HEADING.match(left)
        and (right == _END or _HEADING.match(right) or not left.endswith("\n"))
    ):
        outer_left, label = leads[left], left.strip()
    position = order.index(right) if right in order else len(order)
    return Gap(
        before=before,
        after=after,
        outer_before=before if outer_left == left else _literal_before(outer_left, left, sample),
        outer_after=after if outer_right == right else _literal_after(outer_right),
        label=label,
        static_after=sum(map(len, order[position:-1])),
        following=_following(right, order, sample),
    )


def _following(right: str, order: Sequence[str], sample: Sequence[str]) -> str:
    """What stands from an anchor on in every text: it and all behind it that never changes."""
    rests = [text[text.find(right) :] for text in sample if right in text]
    first, last = min(rests, default=""), max(rests, default="")
    shared = next((at for at, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), None)
    common = first if shared is None else first[:shared]
    ends = [common.rfind(part) + len(part) for part in order if part in common]
    return common[: max(ends, default=0)]


def _between(text: str, before: str, after: str) -> str | None:
    found = find_block(text, before, after)
    return None if found is None else text[found[0] : found[1]]


def _literal_before(unit: str, following: str, sample: Sequence[str]) -> str:
    """The end of a unit, as short as it can be found with certainty."""
    if unit == _START:
        return ""
    for length in _LITERALS:
        literal = unit[-length:]
        if all(text.count(literal) <= 1 for text in sample):
            return literal
    return unit


def _literal_after(unit: str) -> str:
    return "" if unit == _END else unit[: _LITERALS[1]]


def _runs(order: Sequence[str], follows: dict[str, str]) -> tuple[tuple[str, ...], ...]:
    runs: list[list[str]] = []
    for part in order:
        if runs and follows.get(runs[-1][-1]) == part:
            runs[-1].append(part)
        else:
            runs.append([part])
    return tuple(map(tuple, runs))
