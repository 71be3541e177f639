"""How figures are written for people: one rule for all reports."""

from __future__ import annotations

__all__ = ["bar", "compact", "count", "duration", "mib", "milliseconds", "percent", "plural"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def percent(rate: float | None) -> str:
    """A fraction as a percentage with one digit. What is not nothing never reads ``0.0%``, and what is not
    everything never reads ``100.0%``.
    """
    if rate is None:
        return "-"
    if 0 < rate < 0.0005:
        return "<0.1%"
    if 0.9995 <= rate < 1:
        return ">99.9%"
    return f"{rate * 100:.1f}%"


def count(number: int | None) -> str:
    """A count in full, thousands separated by commas."""
    return "-" if number is None else f"{number:,}"


def compact(number: float) -> str:
    """A count in three digits or fewer with its power of a thousand: ``950``, ``12.5k``, ``3.1M``."""
    for limit, suffix in ((999.5, ""), (999_500, "k"), (999_500_000, "M"), (float("inf"), "G")):
        if number < limit:
            scaled = number / {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[suffix]
            digits = 0 if suffix == "" or scaled >= 99.95 else 1
            return f"{scaled:.{digits}f}{suffix}"
    raise ValueError(f"not a count: {number}")


def mib(size: float | None) -> str:
    """Mebibytes, with a digit after the point where it says something."""
    if size is None:
        return "-"
    return f"{size:,.0f}" if size >= 100 else f"{size:.1f}"


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, in three digits or more."""
    value = 1000 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """The two largest units of a time span: ``3 h 12 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, name, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name} {rest} {small}" if rest else f"{whole // size} {name}"
    raise ValueError(f"not a time span: {seconds}")


def plural(number: int, noun: str) -> str:
    """``1 request``, ``2,000 requests``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar of ``share`` of ``width`` cells. A share above zero always shows something."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        cells = round(share * width)
        return "#" * (max(cells, 1) if share > 0 else 0)
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
