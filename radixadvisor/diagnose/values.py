"""What kind of thing varies in a slot: times, dates, identifiers, numbers, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["DATE", "IDENTIFIER", "NUMBER", "TEXT", "TIME", "core", "kinds"]

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
_FIELD = re.compile(
    rf"(?P<time>(?:(?:{_DATE_FORMS})(?:[T ,]|\s+at\s+)\s*)?{_CLOCK}(?:\s+(?:{_DATE_FORMS}))?"
    rf"|\b1[5-9]\d{{8}}(?:\.\d+|\d{{3}}|\d{{6}}|\d{{9}})?\b)"
    rf"|(?P<date>{_DATE_FORMS})"
    r"|(?P<identifier>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?:[a-z]{1,12}[-_])*(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{8,}(?:[-_][A-Za-z0-9]+)*\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{5,}\b|\b\d{6,}\b"
    r"|\b[A-Za-z0-9+/_-]{20,}={0,2})"
    r"|(?P<number>\d+(?:[.,]\d+)*)",
    re.IGNORECASE,
)

_CODE = re.compile(r"[\w+/=.-]{4,}")


def kinds(values: Sequence[str]) -> frozenset[str]:
    """The kinds of fields that differ between the values of one slot.

    A field counts by its place among the fields of its kind. ``TEXT`` is added where the words around the
    fields differ too, or where values have different fields.
    """
    parsed = [_parse(value) for value in values if value.strip()]
    lead, tail = core(values)
    inner = [value[lead : len(value) - tail] for value in values]
    if all(map(_CODE.fullmatch, inner)) and sum(map(_mixed, inner)) >= 0.5 * len(inner):
        return frozenset({IDENTIFIER})
    found = set()
    for kind in (TIME, DATE, IDENTIFIER, NUMBER):
        if len({tuple(fields[kind]) for fields, _ in parsed}) > 1:
            found.add(kind)
    if len({words for _, words in parsed}) > max(1, len(parsed) // 20):
        found.add(TEXT)
    return frozenset(found)


def _parse(value: str) -> tuple[dict[str, list[str]], str]:
    fields: dict[str, list[str]] = {TIME: [], DATE: [], IDENTIFIER: [], NUMBER: []}

    def mask(match: re.Match[str]) -> str:
        kind = match.lastgroup or NUMBER
        fields[kind].append(match[0])
        return "\x00"

    return fields, _FIELD.sub(mask, value)


def core(values: Sequence[str]) -> tuple[int, int]:
    """Characters at the beginning and at the end that all values share, borders of words kept whole."""
    first = _common(values)
    backwards = [value[::-1] for value in values]
    last = _common(backwards)
    shortest = min(map(len, values))
    lead = len(first)
    while lead and first[lead - 1].isalnum() and lead < shortest:
        lead -= 1
    tail = min(len(last), shortest - lead)
    while tail and last[tail - 1].isalnum():
        tail -= 1
    return lead, tail


def _mixed(code: str) -> bool:
    return any(map(str.isdigit, code)) and (any(map(str.isalpha, code)) or len(code) > 5)


def _common(values: Sequence[str]) -> str:
    first, last = min(values), max(values)
    for at, character in enumerate(first):
        if character != last[at]:
            return first[:at]
    return first
