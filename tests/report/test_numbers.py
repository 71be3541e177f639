"""How figures are written."""

from __future__ import annotations

import pytest

from radixadvisor.report.numbers import bar, compact, count, duration, mib, percent, plural


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (None, "-"),
        (0.0, "0.0%"),
        (0.0001, "<0.1%"),
        (0.123, "12.3%"),
        (0.99949, "99.9%"),
        (0.99999, ">99.9%"),
        (1.0, "100.0%"),
    ],
)
def test_percent_never_rounds_to_nothing_or_everything(rate: float | None, text: str) -> None:
    assert percent(rate) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (99_949, "99.9k"),
        (99_951, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (47_123_456, "47.1M"),
        (2_500_000_000, "2.5G"),
    ],
)
def test_compact(number: int, text: str) -> None:
    assert compact(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (59.95, "60.0 s"),
        (60, "1 min"),
        (3599.7, "1 h"),
        (11_520, "3 h 12 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts() -> None:
    assert (count(None), count(1_234_567)) == ("-", "1,234,567")
    assert (plural(1, "request"), plural(2000, "request")) == ("1 request", "2,000 requests")
    assert (mib(None), mib(4.94), mib(1234.5)) == ("-", "4.9", "1,234")


def test_a_bar_shows_any_share_above_zero_and_never_exceeds_its_width() -> None:
    assert bar(0, 10) == "" == bar(0, 10, ascii_only=True)
    assert bar(1e-9, 10) == "▏"
    assert bar(1e-9, 10, ascii_only=True) == "#"
    assert bar(0.5, 10) == "█████" == bar(0.5, 10, ascii_only=True).replace("#", "█")
    assert bar(1.7, 10) == "█" * 10
