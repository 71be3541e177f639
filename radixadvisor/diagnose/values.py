"""What kind of thing varies in a slot: times, dates, identifiers, numbers, or text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DATE", "IDENTIFIER", "NUMBER", "TEXT", "TIME", "Column", "columns", "kinds", "spans"]

_ALIGNED = 0.95

TIME, DATE, IDENTIFIER, NUMBER, TEXT = "time", "date", "identifier", "number", "text"

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|CET|CEST|[A-Z]ST|[+-]\d{2}:?\d{2})\b)?"
_CLOCK = rf"\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?{_ZONE}"
_DATE_FORMS = (
    rf"(?:{_DAY}\s+)?\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}"
    rf"|(?:{_DAY}\s+)?\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}"
    rf"|(?:{_DAY}\s+)?\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?{_MONTH},?(?:\s+\d{{4}})?"
    rf"|(?:{_DAY}\s+)?{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?(?:\s+\d{{4}})?"
    rf"|\d{{4}}年\d{{1,2}}月\d{{1,2}}日"
    rf"|\b{_DAY.removesuffix(',?')}(?=\W|$)"
)
_WHEN = (
    rf"(?P<time>(?:(?:{_DATE_FORMS})(?:[T ,]|\s+at\s+)\s*)?{_CLOCK}(?:\s+(?:{_DATE_FORMS}))?"
    rf"|\b1[5-9]\d{{8}}(?:\.\d+|\d{{3}}|\d{{6}}|\d{{9}})?\b)"
    rf"|(?P<date>{_DATE_FORMS})"
)
_WORD = re.compile(
    rf"{_WHEN}|(?P<number>\d+(?:[.,]\d+)*(?![\w-]))|(?P<word>\w[\w+/-]*={{0,2}})", re.IGNORECASE
)
_CODE = re.compile(r"(?=.*\d)[\w+/=-]{4,}")
_DIGITS = 6
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Column:
    """The words at one place of all values: what they are, and how many differ."""

    kind: str
    distinct: int


def columns(values: Sequence[str]) -> list[Column] | None:
    """What the words of values are, place by place; None where values do not have the same words in number
    and punctuation (but for one in twenty).

    A column of words with digits in which nearly every value is another one is an identifier.
    """
    parsed = [list(_WORD.finditer(value)) for value in values]
    shapes = Counter([_WORD.sub("\x00", value) for value in values])
    shape, count = shapes.most_common(1)[0]
    if count < _ALIGNED * len(values):
        return None
    width = shape.count("\x00")
    rows = [found for value, found in zip(values, parsed, strict=True) if len(found) == width]
    return [_column([row[place] for row in rows]) for place in range(width)]


def _column(found: Sequence[re.Match[str]]) -> Column:
    words = [match[0] for match in found]
    distinct = len(set(words))
    groups = {match.lastgroup for match in found}
    if groups <= {TIME, DATE}:
        kind = TIME if TIME in groups else DATE
    elif sum(map(_coded, words)) >= 0.5 * len(words) and distinct > 2:
        kind = IDENTIFIER
    else:
        kind = NUMBER if groups <= {NUMBER} else TEXT
    return Column(kind, distinct)


def _coded(word: str) -> bool:
    return _CODE.fullmatch(word) is not None and (not word.isdigit() or len(word) >= _DIGITS)


def spans(value: str) -> list[tuple[int, int]]:
    """Where the words of a value stand: one pair for each column."""
    return [match.span() for match in _WORD.finditer(value)]


def kinds(values: Sequence[str]) -> frozenset[str]:
    """The kinds of words that differ between the values of one slot.

    Long values are text. Where values do not align, ``TEXT`` is among them, and times, dates and numbers
    count by their place among their like.
    """
    values = [value for value in values if value.strip()]
    if max(map(len, values), default=0) > _LONGEST:
        return frozenset({TEXT})
    table = columns(values)
    if table is not None:
        return frozenset(column.kind for column in table if column.distinct > 1)
    found = {TEXT}
    for kind in (TIME, DATE, NUMBER):
        rows = {
            tuple(match[0] for match in _WORD.finditer(value) if match.lastgroup == kind) for value in values
        }
        if len(rows) > 1 and len({len(row) for row in rows}) == 1:
            found.add(kind)
    return frozenset(found)
