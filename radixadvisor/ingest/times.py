"""Timestamps and durations in the forms that logs use, told apart by magnitude and form."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from .raw import Fields, Raw, first_byte, is_empty, is_null, label, number, object_of, string

__all__ = ["UNITS", "Clock", "duration", "guess_unit", "parse_time"]

# How many make a second: dividing by these is exact where multiplying by their inverse is not.
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9}
_SPELLED = {"sec": "s", "secs": "s", "seconds": "s", "msec": "ms"}

# An epoch of 1e8 seconds is March 1973: smaller numbers are offsets from the start of a trace.
_EPOCHS = (
    (1e8, 1.0, "relative seconds"),
    (1e11, 1.0, "epoch seconds"),
    (1e14, 1e3, "epoch milliseconds"),
    (1e17, 1e6, "epoch microseconds"),
    (1e20, 1e9, "epoch nanoseconds"),
)
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d:\d\d(?::\d\d)?)([.,]\d+)?\s*(Z|UTC|GMT|[-+]\d\d:?\d\d)?", re.I
)
_CLF = re.compile(r"(\d\d)/(\w{3})/(\d{4}):(\d\d:\d\d:\d\d) ([-+]\d{4})")
_DURATION = re.compile(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(ms|s|us|µs|ns|sec|secs|seconds|msec)?")


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    if match := _ISO.fullmatch(text):
        year, month, day, clock, fraction, zone = match.groups()
        zone = "+00:00" if zone and zone.isalpha() else zone or ""
        text = f"{year}-{month}-{day}T{clock}{(fraction or '').replace(',', '.')[:7]}{zone}"
    elif match := _CLF.fullmatch(text):
        text = "{} {} {} {} {}".format(*match.groups())
    try:
        if match and match.re is _ISO:
            return datetime.fromisoformat(text)
        from email.utils import parsedate_to_datetime  # its import costs more than all else here

        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _written(text: str) -> tuple[float, str] | None:
    """A date in ISO, mail or access-log form as epoch seconds; without a zone it is UTC."""
    moment = _moment(text)
    if moment is None:
        return None
    try:
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC).timestamp(), "ISO without a zone"
        return moment.timestamp(), "ISO"
    except (OverflowError, ValueError):
        return None


def _stamp(raw: Raw, unit: str | None) -> tuple[float, str] | None:
    value = number(raw)
    if value is None:
        if first_byte(raw) == 0x7B:
            return _structured(object_of(raw) or {})
        text = string(raw).strip() if first_byte(raw) == 0x22 else ""
        return _written(text) if text else None
    for limit, scale, form in _EPOCHS:
        if value < limit:
            # A key that names its unit settles what an offset is; an epoch's magnitude speaks for itself.
            offset = unit is not None and form == "relative seconds"
            return value / (UNITS[unit] if offset and unit else scale), form
    return None


def _structured(fields: Fields) -> tuple[float, str] | None:
    """Dates that databases export as objects: ``{"$date": ...}`` and ``{"seconds": ..., "nanos": ...}``."""
    if "$date" in fields:
        return _stamp(fields["$date"], "ms")
    if "$numberLong" in fields:
        return _stamp(fields["$numberLong"], "ms")
    seconds = number(fields.get("seconds", fields.get("_seconds")))
    if seconds is None or not 0 <= seconds < 1e11:
        return None
    nanos = number(fields.get("nanos", fields.get("_nanoseconds"))) or 0.0
    return seconds + nanos * 1e-9, "epoch seconds"


class Clock:
    """Reads timestamps as epoch seconds and remembers the forms it met, so that a mixture can be told."""

    def __init__(self) -> None:
        self.forms: Counter[str] = Counter()
        self.unreadable = 0

    def read(self, raw: Raw | None, unit: str | None = None) -> float | None:
        """Seconds, or None for a time that is missing, negative, or not a time (the latter are counted)."""
        if raw is None or is_empty(raw):
            return None
        found = _stamp(raw, unit)
        if found is None or found[0] < 0:
            self.unreadable += 1
            return None
        self.forms[found[1]] += 1
        return found[0]

    def offset(self, raw: Raw | None, unit: str) -> float | None:
        """Seconds from the start of a trace whose dialect says the unit."""
        value = number(raw)
        if value is None or value < 0:
            self.unreadable += not is_null(raw)
            return None
        self.forms["relative seconds"] += 1
        return value / UNITS[unit]

    def notes(self) -> list[str]:
        """What the reader of a report must know about the times of this log."""
        notes = []
        if len(self.forms) > 1:
            forms = ", ".join(f"{count} as {form}" for form, count in sorted(self.forms.items()))
            notes.append(f"Timestamps come in several forms: {forms}; all were read as UTC seconds.")
        if self.unreadable:
            notes.append(f"{self.unreadable} timestamps could not be read and count as missing.")
        return notes


def parse_time(text: str) -> float | None:
    """A time as a user writes it, in any form that logs use; None if it is none."""
    return Clock().read(Raw(json.dumps(text).encode()))


def duration(raw: Raw | None, unit: str | None) -> float | None:
    """A duration in seconds, ``unit`` being what its key or the whole log says; a unit in the value wins."""
    text = label(raw)
    match = _DURATION.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    named = match[2] or unit or "s"
    value = float(match[1]) / UNITS[_SPELLED.get(named, named)]
    return value if 0 <= value < 1e8 else None


def guess_unit(values: Iterable[Raw], longest: float) -> str:
    """``s`` or ``ms`` for durations whose key names no unit, from a sample of the log.

    Whole numbers beyond 20, or any number beyond ``longest`` plausible seconds, are milliseconds.
    """
    texts = [text for text in map(label, values) if text]
    numbers = [float(text) for text in texts if re.fullmatch(r"\d+(\.\d*)?", text)]
    if not numbers:
        return "s"
    whole = all(text.isdigit() for text in texts)
    return "ms" if max(numbers) > longest or (whole and max(numbers) >= 20) else "s"
