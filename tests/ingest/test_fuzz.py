"""Fuzzed and truncated logs: no traceback, no hang, every bad line counted."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radixadvisor.errors import UsageError
from radixadvisor.ingest import read_log
from radixadvisor.records import Request, Skip
from tests.ingest.test_dialects import STATED

EXAMPLES = Path(__file__).parents[1] / "data" / "formats"
NAMES = sorted(STATED)  # the dialects that read each line for itself
LINES = [line for name in NAMES for line in (EXAMPLES / f"{name}.jsonl").read_bytes().splitlines()]
FORMATS = [None, *NAMES]
HARD = [
    *(
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "NaN",
        "9" * 400,
        '""',
        '"x"',
        "[]",
        "{}",
        "[[]]",
        '{"role":"user"}',
    ),
    *(
        '"\\ud800"',
        '"{\\"messages\\": 1}"',
        '"[{}]"',
        "[1,2]",
        '{"content":[{"type":"image_url"}]}',
        "[null]",
    ),
    "[" * 300 + "]" * 300,
]
SLOWEST = 5.0  # seconds for one small log: a hang, whatever the machine

RELAXED = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def read_any(path: Path, data: bytes, form: str | None) -> tuple[list[Request], list[Skip]]:
    path.write_bytes(data)
    began = time.monotonic()
    try:
        log = read_log(path, format=form)
    except UsageError as refused:
        assert "binary" in str(refused) or "not a log" in str(refused) or "Parquet" in str(refused)
        return [], []
    records = list(log)
    assert time.monotonic() - began < SLOWEST
    requests = [record for record in records if isinstance(record, Request)]
    skips = [record for record in records if isinstance(record, Skip)]
    assert log.skips.total == len(skips) == sum(log.skips.reasons.values())
    for request in requests:
        prompts = (request.messages, request.text, request.tokens, request.blocks)
        assert sum(prompt is not None for prompt in prompts) == 1
        # What was read can be written: no half surrogate survives.
        json.dumps(texts(request), ensure_ascii=False).encode()
    return requests, skips


def texts(request: Request) -> list[Any]:
    found: list[Any] = [
        request.id,
        request.model,
        request.session,
        request.text,
        *request.parameters.values(),
    ]
    for message in request.messages or ():
        found += [message.role, message.text, message.name, message.reasoning]
        found += [call.arguments for call in message.tool_calls]
    return found


def lines_told(data: bytes, requests: list[Request], skips: list[Skip]) -> None:
    """Every line that is not blank gave a request or a skip."""
    lines = {n for n, line in enumerate(data.split(b"\n"), 1) if line and not line.isspace()}
    told = {record.source.line for record in (*requests, *skips)}
    assert lines <= told


@settings(RELAXED, max_examples=250)
@given(st.binary(max_size=400), st.sampled_from(FORMATS))
def test_any_bytes(tmp_path: Path, data: bytes, form: str | None) -> None:
    read_any(tmp_path / "log", data, form)


@settings(RELAXED, max_examples=300)
@given(st.data())
def test_examples_with_broken_bytes(tmp_path: Path, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(LINES), min_size=2, max_size=4))
    at = data.draw(st.integers(1, len(lines) - 1))
    line = bytearray(lines[at])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(line) - 1))
        line[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3)).replace(
            b"\n", b""
        )
        line = line or bytearray(b"x")
    lines[at] = bytes(line)
    joined = b"\n".join(lines)
    requests, skips = read_any(tmp_path / "log", joined, data.draw(st.sampled_from(FORMATS)))
    lines_told(joined, requests, skips)


def paths_of(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, inner in below for path in paths_of(inner, (*here, key)))]


@settings(RELAXED, max_examples=350)
@given(st.data())
def test_examples_with_broken_structure(tmp_path: Path, data: st.DataObject) -> None:
    record = json.loads(data.draw(st.sampled_from(LINES)))
    marks = []
    for number in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([path for path in paths_of(record) if path] or [()]))
        if not path:
            break
        holder = record
        for key in path[:-1]:
            holder = holder[key]
        action = data.draw(st.sampled_from(["drop", "retype", "nest", "encode"]))
        if action == "drop":
            del holder[path[-1]]
        elif action == "retype":
            holder[path[-1]] = f"@{number}@"
            marks.append((f'"@{number}@"', data.draw(st.sampled_from(HARD))))
        elif action == "nest":
            holder[path[-1]] = data.draw(st.sampled_from([[holder[path[-1]]], {"text": holder[path[-1]]}]))
        else:
            holder[path[-1]] = json.dumps(holder[path[-1]])
    text = json.dumps(record)
    for mark, hard in marks:
        text = text.replace(mark, hard)
    lines = [text.encode(), data.draw(st.sampled_from(LINES))]
    joined = b"\n".join(lines)
    requests, skips = read_any(tmp_path / "log", joined, data.draw(st.sampled_from(FORMATS)))
    lines_told(joined, requests, skips)


@settings(RELAXED, max_examples=100)
@given(st.data())
def test_truncated_files(tmp_path: Path, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=5))
    whole = data.draw(
        st.sampled_from(
            [
                b"\n".join(lines),
                b"[" + b",".join(lines) + b"]",
                b"\n".join(json.dumps(json.loads(line), indent=2).encode() for line in lines),
            ]
        )
    )
    packed = data.draw(st.sampled_from([whole, gzip.compress(whole)]))
    read_any(
        tmp_path / "log",
        packed[: data.draw(st.integers(0, len(packed)))],
        data.draw(st.sampled_from(FORMATS)),
    )


@pytest.mark.parametrize(
    "data", [b'{"a' * 20_000, b"{\n" * 20_000, b'["' * 20_000, b"\\" * 90_000, b'"' * 90_001]
)
@pytest.mark.parametrize("start", [b"", b"[", b"{", b'{"messages": []}\n'])
def test_large_rubbish_ends_soon(tmp_path: Path, start: bytes, data: bytes) -> None:
    read_any(tmp_path / "log", start + data, None)
