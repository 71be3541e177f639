"""Opening inputs: names, compression, encodings, damage, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import zstandard

from radixadvisor.errors import NoUsableInput, UnknownName, UsageError
from radixadvisor.ingest import no_usable_input, read_log
from radixadvisor.ingest.files import ByteStream, Input
from radixadvisor.records import Request
from tests.ingest.reading import read_bytes, read_paths

LINES = [
    json.dumps({"messages": [{"role": "user", "content": f"Frage {n} äöü"}]}).encode() for n in range(300)
]
LOG = b"\n".join(LINES) + b"\n"


def contents(requests: Iterable[Request]) -> list[object]:
    return [request.messages[0].content for request in requests if request.messages]


EXPECTED = [f"Frage {n} äöü" for n in range(300)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", LOG),
        ("without a last line end", LOG.rstrip()),
        ("CRLF", LOG.replace(b"\n", b"\r\n")),
        ("blank lines", LOG.replace(b"\n", b"\n\n  \n")),
        ("byte order mark", b"\xef\xbb\xbf" + LOG),
        ("UTF-16 LE", b"\xff\xfe" + LOG.decode().encode("utf-16-le")),
        ("UTF-16 BE", b"\xfe\xff" + LOG.decode().encode("utf-16-be")),
        ("gzip", gzip.compress(LOG)),
        ("gzip of several members", gzip.compress(LOG[:5000]) + gzip.compress(LOG[5000:])),
        ("gzip with padding", gzip.compress(LOG) + bytes(512)),
        ("zstd", zstandard.compress(LOG)),
        ("zstd of several frames", zstandard.compress(LOG[:5000]) + zstandard.compress(LOG[5000:])),
    ],
)
def test_every_packing_gives_the_same_requests(tmp_path: Path, name: str, data: bytes) -> None:
    read = read_bytes(tmp_path, data, "suffix.does.not.matter")
    assert contents(read.requests) == EXPECTED and not read.skips


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_data_cut_in_the_middle_gives_what_was_readable(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    noise = [hashlib.sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(20000)]
    lines = [json.dumps({"messages": [{"role": "user", "content": word}]}).encode() for word in noise]
    packed = pack(b"\n".join(lines))
    read = read_bytes(tmp_path, packed[: len(packed) // 2])
    assert 1000 < len(read.requests) < 19000
    (skip,) = read.skips
    assert skip.reason == "input ends too early" and "ends too early" in skip.detail
    assert skip.source.line == len(read.requests) + 1


def test_corrupt_gzip_is_reported_where_it_breaks(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LOG * 50))
    packed[len(packed) // 2] ^= 0xFF
    read = read_bytes(tmp_path, bytes(packed))
    assert read.skips[-1].reason == "input ends too early" and "corrupt" in read.skips[-1].detail


def test_a_gzip_bomb_is_unpacked_in_small_bites(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    stream = ByteStream(Input("bomb", path), 1024)
    assert max(len(chunk) for chunk in stream) <= 1 << 20
    stream.close()


def test_several_files_globs_and_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.jsonl"):
        (tmp_path / name).write_bytes(LINES[ord(name[0]) - ord("a")] + b"\n")
    read = read_paths([str(tmp_path / "c.jsonl"), str(tmp_path / "*.jsonl")])
    assert contents(read.requests) == ["Frage 2 äöü", "Frage 0 äöü", "Frage 1 äöü"]
    assert [request.source.line for request in read.requests] == [1, 1, 1]
    assert read.log.files == [str(tmp_path / name) for name in ("c.jsonl", "a.jsonl", "b.jsonl")]


def test_a_name_that_looks_like_a_glob_but_exists_is_a_file(tmp_path: Path) -> None:
    assert len(read_bytes(tmp_path, LOG, "run[1].jsonl").requests) == 300


def test_a_name_that_is_no_utf8_is_named_in_escapes(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"log\xff.jsonl")
    path.write_bytes(LINES[0] + b"\nbad\n")
    read = read_paths(path)
    assert read.requests[0].source.file == str(tmp_path / "log\\xff.jsonl")
    assert read.skips[0].source.file.isascii()


def test_equal_messages_are_one_object_across_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(LINES[0])
    first, second = read_paths([tmp_path / "a", tmp_path / "b"]).requests
    assert first.messages and second.messages and first.messages[0] is second.messages[0]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LOG))))
    read = read_paths("-")
    assert len(read.requests) == 300 and read.requests[0].source.file == "-"


def test_a_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="Standard input is closed"):
        read_paths("-")


def test_a_pipe_is_opened_once(tmp_path: Path) -> None:
    end, write = os.pipe()
    os.write(write, LINES[0])
    os.close(write)
    read = read_paths(f"/dev/fd/{end}")
    os.close(end)
    assert len(read.requests) == 1


def test_a_log_can_be_read_twice_and_limited(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LOG)
    log = read_log(tmp_path / "log", limit=7)
    assert len(list(log)) == 7 == len(list(log)) == log.requests


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x80\x04\x95pickle", "pickle"),
        (b"BZh91AY", "bzip2"),
        (bytes(range(256)) * 20, "binary file"),
        (b"PAR1" + bytes(100), "no readable Parquet file"),
    ],
)
def test_binary_files_are_refused_in_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UsageError, match=words) as caught:
        read_log(tmp_path / "x")
    assert "\n" not in str(caught.value) and str(tmp_path / "x") in str(caught.value)


def test_what_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        read_log(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="is a directory"):
        read_log(tmp_path)
    with pytest.raises(UsageError, match="No file matches"):
        read_log(str(tmp_path / "*.jsonl"))
    with pytest.raises(UsageError, match="No input was named"):
        read_log([])
    with pytest.raises(UsageError, match="There is no file"):
        read_log("nul\0byte")
    with pytest.raises(UsageError, match="Cannot read"):
        read_log("x" * 5000)
    (tmp_path / "locked").write_bytes(LOG)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="permission denied"):
        read_log(tmp_path / "locked")


def test_an_unknown_format_lists_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LOG)
    with pytest.raises(UnknownName, match=r"openai_chat.*Known: .*anthropic_messages, .*bailian"):
        read_log(tmp_path / "log", format="openai_chatt")


def test_no_usable_request_is_explained(tmp_path: Path) -> None:
    empty = read_bytes(tmp_path, b"", "empty.jsonl")
    assert str(no_usable_input(empty.log)) == f"No usable request: {tmp_path / 'empty.jsonl'} is empty."
    assert empty.log.notes == [f"{tmp_path / 'empty.jsonl'} is empty."]
    bad = read_bytes(tmp_path, b'{"a": 1}\nwhat\n{"b": 2}\n', "bad.jsonl")
    error = no_usable_input(bad.log)
    assert isinstance(error, NoUsableInput) and error.exit_code == 3
    path = tmp_path / "bad.jsonl"
    assert f"2 no messages (first at {path}:1), 1 not valid JSON (first at {path}:2)" in str(error)
