"""Faults of the text and of serving in one log: the text first, each counted once."""

from __future__ import annotations

import pytest

from tests.serving.logs import Row, chats, singles
from tests.serving.seen import analyzed, one


def with_clock(rows: list[Row]) -> list[Row]:
    for number, row in enumerate(rows):
        system = row["messages"][0]
        moment = f"2026-05-04 08:{number % 60:02d}:{number * 7 % 60:02d}"
        system["content"] = f"Current time: {moment}\n{system['content']}"
    return rows


def test_serving_comes_behind_the_text() -> None:
    rows = chats(
        51, turns=8, fields=lambda number, session, turn: {"metadata": {"replica": f"g{number % 3}"}}
    )
    both = analyzed(with_clock(rows))
    assert [(item.edit, item.rules) for item in both.prescriptions] == [
        ("text", ("RA101",)),
        ("serving", ("RA507",)),
    ]
    last = both.prescriptions[-1]
    # With the clock in front there is nothing that one cache would share; behind the fix there is.
    assert last.alone_tokens < 0.2 * last.marginal_tokens
    # One cache behind the fix is what the fix's own rate takes for granted.
    assert last.rate_after == pytest.approx(both.prescriptions[0].rate_after)


def test_what_the_text_makes_short_is_not_below_a_minimum() -> None:
    rows = singles(52, 40, lines=60, model="gpt-4o")
    assert analyzed(rows).findings == ()
    short = analyzed(with_clock(singles(52, 40, lines=60, model="gpt-4o")))
    assert [found.rule for found in short.findings] == ["RA101"]


def test_two_faults_of_serving_are_ordered_by_what_they_gain() -> None:
    rows = chats(
        53,
        turns=8,
        fields=lambda number, session, turn: {
            "metadata": {"replica": f"g{number % 3}"},
            "model": "gpt-oss-20b",
            "reasoning_effort": ("low", "high")[turn % 2],
        },
    )
    analysis = analyzed(rows)
    assert {rule for item in analysis.prescriptions for rule in item.rules} == {"RA501", "RA507"}
    first, second = analysis.prescriptions
    assert first.marginal_tokens >= second.alone_tokens
    assert first.rate_after < second.rate_after
    assert one(analysis, "RA501").profile == one(analysis, "RA507").profile == "sglang"
