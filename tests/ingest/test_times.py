"""Timestamps and durations in every usual form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.ingest.raw import Raw
from radixadvisor.ingest.times import Clock, duration, guess_unit
from tests.ingest.reading import one, read_records

AT = 1767225605.25  # 2026-01-01T00:00:05.25Z
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    "value",
    [
        AT,
        AT * 1e3,
        int(AT * 1e6),
        int(AT * 1000) * 1_000_000,
        str(AT),
        str(int(AT * 1000)),
        "2026-01-01T00:00:05.25Z",
        "2026-01-01T00:00:05.2500000Z",
        "2026-01-01T00:00:05.250000000+00:00",
        "2026-01-01T05:30:05.25+05:30",
        "2026-01-01T05:30:05.25+0530",
        "2026-01-01T00:00:05.25",
        "2026-01-01 00:00:05.250000",
        "2026-01-01 00:00:05,250",
        "2026-01-01 00:00:05.25 UTC",
        "2026-01-01t00:00:05.25z",
        "2026/01/01 00:00:05.25",
        {"$date": "2026-01-01T00:00:05.25Z"},
        {"$date": {"$numberLong": str(int(AT * 1000))}},
        {"seconds": int(AT), "nanos": 250_000_000},
    ],
)
def test_one_moment_in_every_form(value: Any) -> None:
    assert Clock().read(raw(value)) == pytest.approx(AT, rel=0, abs=1e-3)


@pytest.mark.parametrize("value", ["Thu, 01 Jan 2026 00:00:05 GMT", "01/Jan/2026:01:00:05 +0100"])
def test_mail_and_access_log_dates(value: str) -> None:
    assert Clock().read(raw(value)) == 1767225605.0


@pytest.mark.parametrize(
    "text",
    [
        "-5",
        "1e400",
        "1e21",
        '"soon"',
        '"0001-01-01T00:00:00+23:59"',
        '"9999-99-99"',
        "[1]",
        "true",
        "9" * 500,
    ],
)
def test_what_is_no_time_is_counted(text: str) -> None:
    clock = Clock()
    assert clock.read(Raw(text.encode())) is None
    assert clock.unreadable == 1
    assert "1 timestamps could not be read" in clock.notes()[0]


@pytest.mark.parametrize("text", ["null", '""'])
def test_an_absent_time_is_no_fault(text: str) -> None:
    clock = Clock()
    assert clock.read(Raw(text.encode())) is None and clock.notes() == []


def test_small_numbers_are_offsets_from_the_start_of_a_trace() -> None:
    assert Clock().read(raw(61.114)) == 61.114
    assert Clock().read(raw(3000), "ms") == 3.0


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        (1500, "ms", 1.5),
        (1.5, None, 1.5),
        ("350ms", "s", 0.35),
        ("1.5s", "ms", 1.5),
        (-1, "s", None),
        ("x", "s", None),
    ],
)
def test_durations(value: Any, unit: str | None, seconds: float | None) -> None:
    assert duration(raw(value), unit) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([80, 900], "ms"),
        ([0.08, 0.9], "s"),
        ([812.5, 1290.25], "ms"),
        ([12.5, 3.0], "s"),
        ([2, 5], "s"),
        ([], "s"),
    ],
)
def test_the_unit_of_a_nameless_duration_is_told_from_the_sample(values: list[float], unit: str) -> None:
    assert guess_unit(map(raw, values), 300.0) == unit


@pytest.mark.parametrize(
    ("fields", "arrival", "latency", "ttft"),
    [
        ({"timestamp": 1e9, "latency_ms": 500}, 1e9, 0.5, None),
        ({"start_time": 1e9, "end_time": 1e9 + 2, "ttft_ms": 250}, 1e9, 2.0, 0.25),
        ({"end_time": 1e9 + 2, "latency_ms": 2000}, 1e9, 2.0, None),
        ({"startTime": 1e9, "timestamp": 1e9 + 9}, 1e9, None, None),
        ({"created_at": "2001-09-09T01:46:40Z", "ttft": 0.5}, 1e9, None, 0.5),
        ({"ts_ms": 1e12, "duration": 1.25}, 1e9, 1.25, None),
        ({"timestamp": 1e9, "completionStartTime": 1e9 + 0.5}, 1e9, None, 0.5),
        ({"latency_ms": 500, "response": {"created": 1e9, "choices": []}}, 1e9 - 0.5, 0.5, None),
        ({"timestamp": 1e9, "response": {"created": 1e9 + 3, "choices": []}}, 1e9, None, None),
        ({"created": 1e9, "choices": [], "latency_ms": 500}, 1e9, 0.5, None),
        ({"created": 1e9, "choices": [{"text": "x"}], "latency_ms": 500}, 1e9 - 0.5, 0.5, None),
        ({"time": "NaN-ish"}, None, None, None),
    ],
)
def test_arrival_is_the_start_else_the_end_less_the_latency(
    tmp_path: Path, fields: dict[str, Any], arrival: float | None, latency: float | None, ttft: float | None
) -> None:
    request = one(tmp_path, {**CHAT, **fields})
    assert (request.arrival, request.latency, request.ttft) == (arrival, latency, ttft)


def test_a_mixture_of_forms_is_told(tmp_path: Path) -> None:
    stamps = [1e9, "2001-09-09T01:46:41Z", 1_000_000_002_000]
    read = read_records(tmp_path, *({**CHAT, "timestamp": stamp} for stamp in stamps))
    assert [request.arrival for request in read.requests] == [1e9, 1e9 + 1, 1e9 + 2]
    assert read.log.notes == [
        "Timestamps come in several forms: 1 as ISO, 1 as epoch milliseconds, 1 as epoch seconds; "
        "all were read as UTC seconds."
    ]


def test_an_impossible_time_costs_the_arrival_and_not_the_request(tmp_path: Path) -> None:
    read = read_records(tmp_path, {**CHAT, "timestamp": -1}, {**CHAT, "timestamp": 10**400})
    assert [request.arrival for request in read.requests] == [None, None]
    assert read.log.notes == ["2 timestamps could not be read and count as missing."]
