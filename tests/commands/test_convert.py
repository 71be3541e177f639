"""``convert``: traces that hold what the log held, and refusals that say what to give."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from radixadvisor.cli import main

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOG = str(SAMPLES / "agent-tools.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_parquet_holds_tokens_for_its_owner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", LOG, "-o", "trace.parquet"]) == 0
    assert capsys.readouterr() == ("Wrote trace.parquet (parquet): 145 requests.\n", "")
    table = pq.read_table("trace.parquet")
    assert table.num_rows == 145
    assert {"request_id", "arrival", "session", "namespace", "model"} < set(table.column_names)
    assert str(table.schema.field("prompt_tokens").type) == "list<element: int32>"
    assert stat.S_IMODE(Path("trace.parquet").stat().st_mode) == 0o600
    ids = [json.loads(line)["request_id"] for line in Path(LOG).read_text().splitlines()]
    assert table["request_id"].to_pylist() == ids


@pytest.mark.parametrize(("dialect", "unit"), [("mooncake", 512), ("bailian", 16)])
def test_hash_traces_keep_lengths_and_shared_prefixes(
    dialect: str, unit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, salt in (("a", "x"), ("b", "x"), ("c", "y")):
        assert main(["convert", LOG, "-o", f"{name}.jsonl", "--to", dialect.upper(), "--salt", salt]) == 0
    assert main(["convert", LOG, "-o", "trace.parquet", "--quiet"]) == 0
    capsys.readouterr()
    first, other = rows("a.jsonl"), rows("c.jsonl")
    assert first == rows("b.jsonl")
    assert {h for row in first for h in row["hash_ids"]}.isdisjoint(
        h for row in other for h in row["hash_ids"]
    )
    prompts = pq.read_table("trace.parquet")["prompt_tokens"].to_pylist()
    assert [row["input_length"] for row in first] == [len(prompt) for prompt in prompts]
    for row in first:
        assert len(row["hash_ids"]) == -(-row["input_length"] // unit)
    for row, after, prompt, following in zip(first, first[1:], prompts, prompts[1:], strict=False):
        shared = next((i for i, (a, b) in enumerate(zip(prompt, following, strict=False)) if a != b), None)
        common = sum(a == b for a, b in zip(row["hash_ids"], after["hash_ids"], strict=False))
        assert shared is None or common == shared // unit


def test_an_assumed_length_enters_the_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = {
        "timestamp": 1_700_000_000,
        "model": "qwen2.5-7b",
        "messages": [{"role": "user", "content": "hi"}],
    }
    (folder / "log.jsonl").write_text(json.dumps(line))
    arguments = ["convert", "log.jsonl", "-o", "x.jsonl", "--to", "mooncake", "--salt", "s"]
    assert main([*arguments, "--output-tokens", "7"]) == 0
    assert capsys.readouterr().err == "1 output of unknown length taken as 7 tokens.\n"
    assert [row["output_length"] for row in rows("x.jsonl")] == [7]
    assert main([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert [row["output_length"] for row in rows("x.jsonl")] == [256]


def test_the_summary_counts_what_was_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.jsonl").write_text(Path(LOG).read_text() + "{broken\n")
    assert main(["convert", "log.jsonl", "-o", "x.parquet", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["requests"] == 145
    assert summary["skipped"]["count"] == 1
    assert list(summary["skipped"]["examples"].values()) == [["log.jsonl:146"]]
    assert main(["convert", "log.jsonl", "-o", "x.parquet"]) == 0
    assert "log.jsonl:146" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([LOG, "-o", "x.jsonl"], 2, "give --to bailian or --to mooncake"),
        ([LOG, "-o", "x.jsonl", "--to", "mooncake"], 2, "give --salt SECRET"),
        ([LOG, "-o", "x.jsonl", "--to", "mooncake", "--salt", ""], 2, "give --salt SECRET"),
        ([LOG, "-o", "x.jsonl", "--to", "nonsense"], 2, "Known: aiperf, bailian, mooncake, openai, parquet"),
        ([LOG, "-o", "x.parquet", "--salt", "s"], 2, "shape hash traces"),
        ([LOG, "-o", "x.parquet", "--output-tokens", "3"], 2, "shape hash traces"),
        ([LOG], 2, "Missing option '--out'"),
        (["missing.jsonl", "-o", "x.parquet"], 2, "missing.jsonl"),
        (["empty.jsonl", "-o", "x.parquet"], 3, "is empty"),
        ([LOG, "-o", "empty.jsonl/x.parquet"], 2, "is not a folder"),
        ([LOG, "-o", "x.parquet", "--format", "nonsense"], 2, "nonsense"),
        ([LOG, "-o", "x.parquet", "--tokenizer", "nonsense"], 2, "nonsense"),
    ],
)
def test_refusals(
    arguments: list[str], code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.jsonl").touch()
    assert main(["convert", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.startswith("radixadvisor: ")
    assert shown.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["empty.jsonl"]


def test_a_log_is_never_replaced_by_its_own_conversion(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = folder / "log.jsonl"
    content = Path(LOG).read_bytes()
    log.write_bytes(content)
    (folder / "link.jsonl").symlink_to(log)
    for name in ("log.jsonl", "./log.jsonl", "link.jsonl"):
        arguments = ["convert", str(log), "-o", name, "--to", "mooncake", "--salt", "s"]
        assert main(arguments) == 2
        assert "is the log itself: name another file" in capsys.readouterr().err
        assert log.read_bytes() == content
    assert main(["convert", str(log), "-o", "log.jsonl", "--to", "openai"]) == 2
    assert log.read_bytes() == content


AIRLINE = [
    {"role": "system", "content": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]},
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "done"},
]
RECORD = {
    "request_id": "r1",
    "timestamp": 1767225600.0,
    "session_id": "s1",
    "user_id": "u",
    "latency_s": 1.5,
    "request": {
        "model": "qwen3-8b",
        "messages": AIRLINE,
        "cache_salt": "x",
        "tool_choice": "auto",
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": 2}}}],
    },
    "response": {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "length"}]},
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
}
PROMPT = {"prompt": "Complete me", "request_id": "r2", "timestamp": 1767225601.0, "output_tokens": 3}


def written(tmp_path: Path, *records: dict[str, Any], to: str) -> Path:
    log, out = tmp_path / "log.jsonl", tmp_path / f"{to}.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main(["convert", str(log), "--to", to, "-o", str(out), "--quiet"]) == 0
    assert out.stat().st_mode & 0o077 == 0
    return out


def test_openai_requests_read_back_as_they_were(tmp_path: Path) -> None:
    from tests.ingest.reading import plain, read_paths

    out = written(tmp_path, RECORD, PROMPT, to="openai")
    before, after = read_paths(tmp_path / "log.jsonl"), read_paths(out)
    assert after.log.dialect == "openai_chat" and after.skips == []
    for old, new in zip(before.requests, after.requests, strict=True):
        one, two = plain(old), plain(new)
        if old.usage is None:
            assert one.pop("usage") is None and two.pop("usage") is None
        assert one == two


def test_aiperf_traces_keep_messages_and_times(tmp_path: Path) -> None:
    from tests.ingest.reading import read_paths

    out = written(tmp_path, RECORD, PROMPT, to="aiperf")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["timestamp"] for row in rows] == [0, 1000]
    assert (rows[0]["output_length"], rows[1]["text_input"]) == (2, "Complete me")
    read = read_paths(out)
    assert read.log.dialect == "aiperf_mooncake_ext"
    assert [len(request.messages or ()) for request in read.requests] == [4, 0]


def test_prompts_for_vllm_are_rendered(tmp_path: Path) -> None:
    out = written(tmp_path, RECORD, PROMPT, to="vllm-bench")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows[0]["prompt"].startswith("<|im_start|>system\nS") and rows[0]["output_tokens"] == 2
    assert rows[0]["prompt"].endswith("<|im_start|>assistant\n")
    assert rows[1]["prompt"] == "Complete me"


def test_a_hash_trace_has_no_prompts_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "trace.jsonl"
    log.write_text('{"timestamp": 0, "input_length": 5, "hash_ids": [1]}\n')
    assert main(["convert", str(log), "--to", "openai", "-o", str(tmp_path / "out.jsonl")]) == 2
    assert "no prompts" in capsys.readouterr().err and not (tmp_path / "out.jsonl").exists()
