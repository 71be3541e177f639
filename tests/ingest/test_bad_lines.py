"""Bad lines: each is skipped, counted and named, and none ends the reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.ingest.log import SkipCounter
from radixadvisor.records import Skip, Source
from tests.ingest.reading import read_bytes

GOOD = b'{"messages": [{"role": "user", "content": "hi"}]}'
SECRET = "the-secret-prompt"

BAD = [
    (b"{", "not valid JSON"),
    (b'{"messages": [', "not valid JSON"),
    (GOOD[:-1], "not valid JSON"),
    (GOOD + b" trailing", "not valid JSON"),
    (b"plain words", "not valid JSON"),
    (b"[2026-01-01 10:00:00] INFO started", "not valid JSON"),
    (b'{"messages": [{"role": "user", "content": "a\x00b"}]}', "not valid JSON"),
    (b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}', "not valid UTF-8"),
    (b'{"messages": [{"role": "user", "content": "\xed\xa0\x80"}]}', "not valid UTF-8"),
    (b"\xff\xff\xff", "not valid UTF-8"),
    (b"null", "not an object"),
    (b"17", "not an object"),
    (b'"words"', "not an object"),
    (b"[]", "not an object"),
    (b"[1, 2]", "not an object"),
    (b"{}", "no messages"),
    (b'{"messages": null}', "no messages"),
    (b'{"messages": []}', "no messages"),
    (b'{"messages": [{"content": "x"}]}', "message without a role"),
    (b'{"messages": [["x"]]}', "message is not an object"),
    (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line too deeply nested"),
    (b'{"messages": ' + b"[" * 100_000, "line too deeply nested"),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, "line too deeply nested"),
    (b'{"tokens": [1, 99999999999]}', "prompt of an unknown form"),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_line_is_named_and_its_neighbours_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    read = read_bytes(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD)
    assert [request.source.line for request in read.requests] == [1, 3]
    assert {(skip.source.line, skip.reason) for skip in read.skips} == {(2, reason)}
    assert read.log.skips.examples == {reason: [f"{tmp_path / 'log.jsonl'}:2"] * min(3, len(read.skips))}


@pytest.mark.parametrize(
    ("line", "content"),
    [
        (rb'{"x": NaN, "y": [-Infinity], "messages": [{"role": "user", "content": "NaN"}]}', "NaN"),
        (rb'{"messages": [{"role": "user", "content": "a\ud800"}]}', "a\ufffd"),
        (rb'{"messages": [{"role": "user", "content": "a\u0000\u001b[31m"}]}', "a\0\x1b[31m"),
        (rb'{"messages": [{"role": "user", "content": "old", "content": "new"}]}', "new"),
        (rb'{"messages": [{"role": "user", "content": "x"}], "seed": ' + b"9" * 6000 + b"}", "x"),
        (rb'{"messages": [{"role": "user", "content": "x"}], "timestamp": 1e999}', "x"),
        (b'{"messages": [{"role": "user", "content": "x"}], "other": "\xff"}', "x"),
    ],
)
def test_odd_lines_that_still_hold_a_request(tmp_path: Path, line: bytes, content: str) -> None:
    read = read_bytes(tmp_path, line)
    assert not read.skips
    assert [request.messages[0].content for request in read.requests if request.messages] == [content]


def test_details_never_quote_the_prompt(tmp_path: Path) -> None:
    prompt = json.dumps({"messages": [{"role": "user", "content": SECRET}], "error": SECRET}).encode()
    lines = [
        prompt,
        prompt[:-5],
        prompt.replace(b"user", b""),
        prompt.replace(b'"role"', SECRET.encode()),
        b"\xff" + prompt,
    ]
    read = read_bytes(tmp_path, b"\n".join(lines))
    assert len(read.skips) == len(lines)
    assert not any(SECRET in skip.detail or SECRET in skip.reason for skip in read.skips)


def test_the_counter_ranks_reasons_and_keeps_the_first_places() -> None:
    counter = SkipCounter()
    for line in range(1, 6):
        counter.add(Skip(Source("f", line), "b" if line > 1 else "a"))
    assert counter.total == 5 and counter.examples == {"a": ["f:1"], "b": ["f:2", "f:3", "f:4"]}
    assert counter.sentence() == "4 b (first at f:2), 1 a (first at f:1)"
