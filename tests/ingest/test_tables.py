"""CSV and Parquet rows with JSON columns give what the same records give as lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.records import Usage
from tests.ingest.reading import Read, plain, read_bytes, read_paths, read_records

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": 'say "hi",\nplease; \ttab'}],
    "tools": [{"type": "function", "function": {"name": "f"}}],
}
COMPLETION = {
    "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
}
ROWS = [
    {
        "timestamp": 1750000015.5 + n,
        "status_code": 200,
        "request_json": json.dumps(BODY),
        "response_json": json.dumps(COMPLETION),
        "request_id": f"r{n}",
    }
    for n in range(5)
]


def as_csv(rows: list[dict[str, Any]], separator: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def same(read: Read, other: Read) -> bool:
    return [plain(request) for request in read.requests] == [plain(request) for request in other.requests]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_rows_are_records(tmp_path: Path, separator: str) -> None:
    read = read_bytes(tmp_path, as_csv(ROWS, separator), "log.txt")
    assert not read.skips and read.log.dialect == "openai_chat"
    assert same(read, read_records(tmp_path, *ROWS))
    assert [request.source.line for request in read.requests] == [2, 3, 4, 5, 6]
    assert read.requests[0].usage == Usage(9, 1) and read.requests[0].arrival == 1750000015.5


def test_csv_in_gzip_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert (
        len(read_bytes(tmp_path, gzip.compress(b"\xef\xbb\xbf" + as_csv(ROWS)), "log.csv.gz").requests) == 5
    )


def test_a_column_of_messages_or_of_text(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, as_csv([{"messages": json.dumps(BODY["messages"]), "model": "m", "user": "u"}])
    )
    assert read.requests[0].messages and read.requests[0].user == "u"
    read = read_bytes(tmp_path, as_csv([{"prompt": '{"looks": "like JSON"}', "output": "x"}]))
    assert read.requests[0].text == '{"looks": "like JSON"}'
    assert read.requests[0].output and read.requests[0].output.text == "x"


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    rows = (
        as_csv(ROWS[:2]).replace(b"200", b"500", 1)
        + b"lonely cell\r\n"
        + b'1,200,"\xff{}",{},r9\r\n'
        + as_csv(ROWS[2:3]).split(b"\n", 1)[1]
    )
    read = read_bytes(tmp_path, rows, "log.csv")
    assert [request.id for request in read.requests] == ["r1", "r2"]
    assert [(skip.source.line, skip.reason) for skip in read.skips] == [
        (2, "failed request"),
        (4, "not a valid CSV row"),
        (5, "not valid UTF-8"),
    ]


def test_a_csv_cut_in_the_middle(tmp_path: Path) -> None:
    packed = gzip.compress(as_csv(ROWS * 2000), 1)
    read = read_bytes(tmp_path, packed[: len(packed) // 2], "log.csv.gz")
    assert len(read.requests) + read.log.skips.reasons["duplicate delivery"] > 1000
    assert read.skips[-1].reason == "input ends too early"


def test_a_csv_without_prompts_says_so(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n", "a.csv"
    )
    assert read.requests == [] and [skip.reason for skip in read.skips] == ["no prompt text"]


def parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def test_parquet_rows_are_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.parquet"
    parquet(path, {name: [row[name] for row in ROWS] for name in ROWS[0]})
    read = read_paths(path)
    assert not read.skips and same(read, read_records(tmp_path, *ROWS))
    assert [request.source.line for request in read.requests] == [1, 2, 3, 4, 5]

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Pipe(path.read_bytes())}))
    assert len(read_paths("-").requests) == 5


def test_parquet_with_nested_columns(tmp_path: Path) -> None:
    path = tmp_path / "nested.parquet"
    parquet(
        path,
        {
            "messages": [BODY["messages"] + [{"role": "assistant", "content": None}]],
            "created_at": [datetime(2026, 1, 1, tzinfo=UTC)],
            "model": [b"m"],
            "user": [None],
        },
    )
    (request,) = read_paths(path).requests
    assert request.messages and request.messages[1].content is None
    assert (request.arrival, request.model, request.user) == (1767225600.0, "m", None)
