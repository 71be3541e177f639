"""Traces as files: what is written is what is read back, for its owner only, or nothing at all."""

from __future__ import annotations

import json
import os
import stat
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radixadvisor.analysis.measure import measure
from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.analysis.run import analyze
from radixadvisor.errors import OutputError, UsageError
from radixadvisor.ingest import read_log
from radixadvisor.trace import TokenOptions, Trace, build_trace
from radixadvisor.trace.files import UNITS, hash_rows, save_hashes, save_parquet

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def opened(path: Path, form: str | None = None) -> Trace:
    return build_trace(read_log(path, form), TokenOptions())


def sample(name: str) -> Trace:
    return opened(SAMPLES / f"{name}.jsonl")


def turn(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "qwen2.5-7b", "messages": [{"role": "user", "content": text}], **fields}


def log_of(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


HARD = [
    turn("first", id="[1]", session_id='{"a": 1}', cache_salt="s"),
    turn("first", id="null", session_id="[]", lora_name="a", tool_choice={"type": "none"}),
    turn("first", response="a reply", session_id="[]"),
    turn("second", response=[5, 6], model="gpt-4o", timestamp=1750000000.123456),
    turn("second", model=""),
    {"model": "llama-3.1-8b", "tokens": [1, 2, 3, 2**31 - 1], "id": "x"},
]


def same(trace: Trace, other: Trace) -> None:
    """Two traces hold the same requests, order and caches."""
    count = len(trace.requests)
    assert count == len(other.requests)
    for name in ("order", "sessions", "named_sessions", "timed", "lengths", "unit"):
        assert getattr(trace, name) == getattr(other, name), name
    assert trace.arrivals() == other.arrivals()
    for index in range(count):
        assert trace.prompt(index) == other.prompt(index)
        assert trace.outputs[index] == other.outputs[index]
        for name in ("id", "model", "arrival", "session", "namespace", "parameters"):
            assert getattr(trace.requests[index], name) == getattr(other.requests[index], name), name
    found, again = measure(trace), measure(other)
    for name in ("unlimited", "same_session", "other_session"):
        assert np.array_equal(getattr(found, name), getattr(again, name)), name
    assert list(found.profiles) == list(again.profiles)
    for name, column in found.profiles.items():
        assert np.array_equal(column, again.profiles[name]), name


@pytest.mark.parametrize("name", ["agent-tools", "mixed-apps", "unique-head"])
def test_a_parquet_trace_gives_the_same_hits(tmp_path: Path, name: str) -> None:
    trace = sample(name)
    path = tmp_path / "trace.parquet"
    assert save_parquet(trace, path) == len(trace.requests)
    again = opened(path)
    assert all(request.tokens is not None for request in again.requests)
    same(trace, again)


def test_names_that_look_like_json_and_missing_times(tmp_path: Path) -> None:
    trace = opened(log_of(tmp_path, *HARD))
    assert len(trace.requests) == len(HARD) and not trace.timed
    save_parquet(trace, tmp_path / "trace.parquet")
    same(trace, opened(tmp_path / "trace.parquet"))


def test_a_second_conversion_changes_nothing(tmp_path: Path) -> None:
    save_parquet(sample("agent-tools"), tmp_path / "a.parquet")
    save_parquet(opened(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(pq.read_table(tmp_path / "b.parquet"))


def test_the_report_names_no_tokenizer_that_made_no_token(tmp_path: Path) -> None:
    save_parquet(sample("agent-tools"), tmp_path / "trace.parquet")
    analysis = analyze([str(tmp_path / "trace.parquet")], AnalyzeOptions())
    assert analysis.tokenizers == ()
    assert analysis.input.dialect == "trace"
    assert any("145 prompts are token ids in the log" in told.text for told in analysis.assumptions)
    mixed = log_of(tmp_path, HARD[-1], turn("text", model="qwen2.5-7b"))
    (used,) = analyze([str(mixed)], AnalyzeOptions()).tokenizers
    assert used.models == ("qwen2.5-7b",) and used.requests == 1


def test_other_integer_lists_are_tokens_and_bad_rows_are_told(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    rows = {
        "request_id": ["a", "b", "c"],
        "prompt_tokens": [[1, 2], None, [3]],
        "namespace": [None, None, "x"],
    }
    pq.write_table(
        pa.table(rows, pa.schema({**dict.fromkeys(rows, pa.string()), "prompt_tokens": WIDE})), path
    )
    log = read_log(path)
    (request, *skips) = list(log)
    assert getattr(request, "tokens", None) == np.array([1, 2], np.int32).tobytes()
    assert [skip.source.line for skip in skips] == [2, 3]
    assert log.skips.reasons == {"no prompt tokens": 1, "not a row of a token trace": 1}
    pq.write_table(pa.table({"request_id": ["a"], "prompt_tokens": [[2**31]]}), path)
    with pytest.raises(UsageError, match="not in range"):
        read_log(path)


WIDE = pa.list_(pa.int64())


def common(one: bytes, other: bytes) -> int:
    """Equal leading tokens."""
    pairs = zip(memoryview(one).cast("i"), memoryview(other).cast("i"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.parametrize("dialect", UNITS)
def test_hash_traces_keep_the_tree(tmp_path: Path, dialect: str) -> None:
    """Blocks hit: the whole ones of the longest prefix shared with an earlier prompt of the namespace."""
    trace = sample("agent-tools")
    path = tmp_path / "trace.jsonl"
    assert save_hashes(trace, path, dialect, "salt") == len(trace.requests)
    hashed = opened(path)
    unit = UNITS[dialect]
    assert hashed.unit == unit
    assert hashed.lengths == [trace.lengths[index] for index in trace.order]
    seen: dict[str, list[bytes]] = {}
    whole = []
    for index in trace.order:
        earlier = seen.setdefault(trace.namespace(index), [])
        prompt = trace.prompt(index)
        whole.append(max((common(prompt, other) for other in earlier), default=0) // unit)
        earlier.append(prompt)
    assert (measure(hashed).unlimited // unit).tolist() == whole
    assert sum(whole) > 0


def test_bailian_blocks_hit_what_pages_of_16_hit(tmp_path: Path) -> None:
    trace = sample("agent-tools")
    save_hashes(trace, tmp_path / "trace.jsonl", "bailian", "salt")
    hashed = opened(tmp_path / "trace.jsonl")
    pages = measure(trace).unlimited // 16
    assert (measure(hashed).unlimited // 16).tolist() == pages.tolist()
    # Sessions stay, as numbers.
    numbers: dict[int, int] = {}
    sessions = [numbers.setdefault(trace.sessions[index], len(numbers)) for index in trace.order]
    assert hashed.sessions == sessions


@pytest.mark.parametrize("dialect", UNITS)
def test_hashes_follow_the_salt_alone(dialect: str) -> None:
    trace = sample("three")
    ids = {salt: [row["hash_ids"] for row in hash_rows(trace, dialect, salt)] for salt in ("a", "b")}
    assert ids["a"] == [row["hash_ids"] for row in hash_rows(sample("three"), dialect, "a")]
    flat = {salt: {block for row in rows for block in row} for salt, rows in ids.items()}
    assert flat["a"].isdisjoint(flat["b"]) and len(flat["a"]) == len(flat["b"])


def test_hash_traces_convert_among_their_own_size_only(tmp_path: Path) -> None:
    save_hashes(sample("three"), tmp_path / "trace.jsonl", "bailian", "a")
    hashed = opened(tmp_path / "trace.jsonl")
    assert save_hashes(hashed, tmp_path / "again.jsonl", "bailian", "b") == 3
    same_tree = opened(tmp_path / "again.jsonl")
    assert measure(same_tree).unlimited.tolist() == measure(hashed).unlimited.tolist()
    with pytest.raises(UsageError, match="blocks of 16"):
        save_hashes(hashed, tmp_path / "other.jsonl", "mooncake", "b")
    with pytest.raises(UsageError, match="no tokens"):
        save_parquet(hashed, tmp_path / "other.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.jsonl", "trace.jsonl"]


def test_only_the_owner_reads_tokens(tmp_path: Path) -> None:
    trace = sample("three")
    old = os.umask(0o022)
    try:
        save_parquet(trace, tmp_path / "trace.parquet")
        save_hashes(trace, tmp_path / "trace.jsonl", "bailian", "salt")
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"trace.parquet": 0o600, "trace.jsonl": 0o644}


@pytest.mark.parametrize("target", ["file/trace", "folder"])
def test_a_target_that_cannot_be_written_leaves_nothing(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    trace = sample("three")
    with pytest.raises(OutputError, match="Cannot write"):
        save_parquet(trace, tmp_path / target)
    with pytest.raises(OutputError, match="Cannot write"):
        save_hashes(trace, tmp_path / target, "mooncake", "salt")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_failure_midway_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "trace.parquet"
    path.write_text("old")
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OutputError, match="No space left"):
        save_parquet(sample("three"), path)
    assert [item.name for item in tmp_path.iterdir()] == ["trace.parquet"]
    assert path.read_text() == "old"
