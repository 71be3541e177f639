"""A rewritten log measures as its fixes were measured, shows none of their faults, and changes no more."""

from __future__ import annotations

import gzip
import io
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from radixadvisor.analysis import AnalyzeOptions, analyze
from radixadvisor.cli import main
from radixadvisor.ingest import read_log
from radixadvisor.records import Request
from radixadvisor.results import Analysis
from radixadvisor.rewriting.files import FALLBACK, write_log
from tests.update_readme import REPOSITORY

SAMPLES = REPOSITORY / "samples"
FORMATS = sorted((REPOSITORY / "tests" / "data" / "formats").iterdir())
FAULTY = ("mixed-apps", "rag-shuffled", "rag-tools-last", "unique-head")
Body = dict[str, Any]


def rewritten(capsys: pytest.CaptureFixture[str], *options: str) -> Body:
    capsys.readouterr()
    assert main(["rewrite", *options, "--json"]) == 0
    body: Body = json.loads(capsys.readouterr().out)
    return body


def text_rules(analysis: Analysis) -> list[str]:
    return list(
        dict.fromkeys(rule for item in analysis.prescriptions if item.edit == "text" for rule in item.rules)
    )


def holds(log: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All text fixes: the promised rate to the token, the faults gone, a second time without effect."""
    before = analyze([str(log)], AnalyzeOptions())
    rules = text_rules(before)
    body = rewritten(capsys, str(log), "-o", str(out), "--apply", ",".join(rules) or "all-safe")
    after = analyze([str(out)], AnalyzeOptions())
    assert after.hits.profiles["sglang"].tokens == body["served_tokens"]["after"]
    assert after.totals.prompt_tokens == body["prompt_tokens"]["after"]
    promised = [item.rate_after for item in before.prescriptions if item.edit == "text"]
    rate = promised[-1] if promised else before.hits.profiles["sglang"].rate
    assert after.hits.profiles["sglang"].rate == pytest.approx(rate, abs=1e-12)
    assert not {item.rule for item in after.findings if item.kind == "fix"} & set(rules)
    assert after.input.requests == before.input.requests
    again = rewritten(capsys, str(out), "-o", str(out) + ".again", "--apply", ",".join(rules) or "all-safe")
    assert again["changed"] == 0
    assert Path(str(out) + ".again").read_bytes() == out.read_bytes()


@pytest.mark.parametrize("sample", FAULTY)
def test_a_sample_is_brought_to_the_promised_rate(
    sample: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holds(SAMPLES / f"{sample}.jsonl", tmp_path / "fixed.jsonl", capsys)


def test_every_case_is_brought_to_the_promised_rate(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [log for log in sorted((shared / "cases").glob("*.jsonl")) if "fixed" not in log.name]
    assert len(logs) > 10
    for log in logs:
        holds(log, tmp_path / log.name, capsys)


def edited(request: Request) -> Request:
    """The request with a sentence more in its first message."""
    first, *rest = request.messages or ()
    content = first.content
    if isinstance(content, tuple):
        at = next((at for at, part in enumerate(content) if part.kind == "text"), None)
        if at is None:
            return request
        parts = list(content)
        parts[at] = replace(parts[at], text=parts[at].text + ' Changed: "é"\n')
        return replace(request, messages=(replace(first, content=tuple(parts)), *rest))
    return replace(request, messages=(replace(first, content=(content or "") + ' Changed: "é"\n'), *rest))


NATIVE = {
    *("anthropic_messages", "apisix_ai_log", "azure_openai_diagnostic", "bedrock_invocation_log"),
    *("helicone_export", "kong_ai_log", "langfuse_observations", "langsmith_runs", "litellm"),
    *("litellm_spend_logs", "lmsys_chat_1m", "openai_batch", "openai_chat", "openai_responses"),
    *("openhands_output", "otel_genai_otlp", "phoenix_openinference_spans", "portkey_log_export"),
    *("sagemaker_data_capture", "vertex_request_response", "vllm_bench_sharegpt", "wildchat"),
    "aiperf_single_turn",
}


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_every_dialect_reads_back_as_it_was_written(path: Path, tmp_path: Path) -> None:
    log = read_log(str(path))
    requests = [item for item in log if isinstance(item, Request)]
    edits = {index: edited(request) for index, request in enumerate(requests) if request.messages}
    if not edits:
        assert path.stem not in NATIVE
        return
    out = tmp_path / path.name
    dialect, why = write_log(path, out, log.dialect, requests, edits)
    assert (dialect == log.dialect and not why) or (dialect == FALLBACK and why)
    assert (dialect == log.dialect) == (path.stem in NATIVE)
    back = [item for item in read_log(str(out), dialect) if isinstance(item, Request)]
    wanted = [edits.get(index, request) for index, request in enumerate(requests)]
    assert [[turn.text for turn in one.messages or ()] for one in back] == [
        [turn.text for turn in one.messages or ()] for one in wanted
    ]
    for one, two in zip(back, wanted, strict=True):
        assert (one.model, one.session, one.arrival) == (two.model, two.session, pytest.approx(two.arrival))


def lines() -> list[bytes]:
    return (SAMPLES / "unique-head.jsonl").read_bytes().splitlines(keepends=True)


def test_untouched_records_stay_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = (SAMPLES / "one-shots.jsonl").read_bytes().splitlines(keepends=True)
    mixed = [*lines()[:40], b"not json\n", b"\n", plain[0].replace(b'":', b'" :', 3), b"  " + plain[1]]
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(mixed) + plain[2].rstrip(b"\n"))
    body = rewritten(capsys, str(log), "-o", str(tmp_path / "out.jsonl"), "--apply", "ra101")
    assert (body["changed"], body["skipped"], body["written"]) == (40, 1, "openai_chat")
    found = (tmp_path / "out.jsonl").read_bytes()
    assert found.endswith(b"".join(mixed[40:]) + plain[2].rstrip(b"\n"))
    first, changed = json.loads(mixed[0]), json.loads(found.splitlines()[0])
    assert list(first) == list(changed)
    assert {key for key in first if first[key] != changed[key]} == {"messages"}


@pytest.mark.parametrize("form", ["array", "indented", "gz", "zst", "crlf"])
def test_a_log_keeps_its_form(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in lines()[:40]]
    log, out = tmp_path / "log.json", tmp_path / "out.json"
    if form == "array":
        log.write_text(json.dumps(rows))
    elif form == "indented":
        log.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    elif form == "crlf":
        log.write_bytes(b"".join(lines()[:40]).replace(b"\n", b"\r\n"))
    else:
        log, out = log.with_suffix(f".jsonl.{form}"), out.with_suffix(f".jsonl.{form}")
        text = b"".join(lines()[:40])
        log.write_bytes(gzip.compress(text) if form == "gz" else zstandard.compress(text))
    body = rewritten(capsys, str(log), "-o", str(out), "--apply", "all-safe")
    assert (body["changed"], body["written"]) == (40, "openai_chat")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    data = out.read_bytes()
    if form == "array":
        assert isinstance(json.loads(data), list)
    if form == "crlf":
        assert data.count(b"\r\n") == data.count(b"\n") == 40
    if form == "gz":
        data = gzip.decompress(data)
    if form == "zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert (
        analyze([str(out)], AnalyzeOptions()).hits.profiles["sglang"].tokens == body["served_tokens"]["after"]
    )


def test_reviews_are_made_only_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = str(SAMPLES / "mixed-apps.jsonl"), str(tmp_path / "out.jsonl")
    safe = rewritten(capsys, log, "-o", out, "--apply", "all-safe")
    assert [change["rules"] for change in safe["changes"]] == [["RA101", "RA103"]]
    assert any("RA307" in item["name"] and "review" in item["reason"] for item in safe["left"])
    both = rewritten(capsys, log, "-o", out, "--apply", "all-safe,RA307")
    assert {rule for change in both["changes"] for rule in change["rules"]} == {"RA101", "RA103", "RA307"}
    assert both["changed"] == sum(change["requests"] for change in both["changes"])


def test_what_cannot_be_done_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.jsonl")
    body = rewritten(capsys, str(SAMPLES / "rag-consistent.jsonl"), "-o", out, "--apply", "RA101,RA504")
    assert body["changed"] == 0
    assert [item["name"] for item in body["left"]] == ["RA101", "RA504"]
    assert Path(out).read_bytes() == (SAMPLES / "rag-consistent.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--apply", "RA999"], "RA999"),
        (["--apply", ""], "RA101"),
        (["--apply", "all"], "all-safe"),
    ],
)
def test_wrong_usage_is_one_sentence(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert main(["rewrite", str(SAMPLES / "three.jsonl"), "-o", str(out), *options]) == 2
    assert told in capsys.readouterr().err
    assert not out.exists()


def test_inputs_that_cannot_be_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(lines()))
    assert main(["rewrite", str(log), "-o", str(log), "--apply", "all-safe"]) == 2
    assert log.read_bytes() == b"".join(lines())
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}\n' * 3)
    assert main(["rewrite", str(trace), "-o", str(tmp_path / "o.jsonl"), "--apply", "all-safe"]) == 2
    assert "no prompt to rewrite" in capsys.readouterr().err.replace("\n", " ")
    (tmp_path / "second.jsonl").write_bytes(b"".join(lines()))
    many = str(tmp_path / "*.jsonl")
    assert main(["rewrite", many, "-o", str(tmp_path / "o.jsonl"), "--apply", "all-safe"]) == 2
    empty = tmp_path / "empty"
    empty.write_text("")
    assert main(["rewrite", str(empty), "-o", str(tmp_path / "o.jsonl"), "--apply", "all-safe"]) == 3


def test_standard_input_is_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines()))))
    body = rewritten(capsys, "-", "-o", str(tmp_path / "out.jsonl"), "--apply", "RA103")
    assert body["changed"] == 80
    assert body["written"] == "openai_chat"


def test_excerpts_are_masked_and_screens_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    rows = [json.loads(line) for line in lines()]
    for number, row in enumerate(rows):
        head = (
            f"Time: 2026-01-01T00:{number % 60:02}:00Z key sk-abcdefghijklmnopqrstuvwxyz{number:06}\x1b[31m\n"
        )
        row["messages"][0]["content"] = head + row["messages"][0]["content"]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for columns in (60, 80, 140):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["rewrite", str(log), "-o", str(tmp_path / "o.jsonl"), "--apply", "all-safe"]) == 0
        shown = capsys.readouterr().out
        assert "sk-abcdef" not in shown
        assert "\x1b[31m" not in shown
        assert max(map(len, shown.splitlines())) <= columns
    assert main(["rewrite", str(log), "-o", str(tmp_path / "o.jsonl"), "--apply", "all-safe", "-q"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
