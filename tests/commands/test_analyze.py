"""``analyze`` end to end on the samples: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.cli import main
from tests.report.test_json import unexplained

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOGS = sorted(path.name for path in SAMPLES.glob("*.jsonl"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The report that a run prints with --json."""
    assert main(["analyze", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", LOGS)
def test_every_sample(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(SAMPLES / name), "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.out == Path("outputs/report.json").read_text(encoding="ascii")
    assert shown.err == "Wrote outputs/report.json and outputs/skill-radix-scheduler-advisor.md.\n"
    result = json.loads(shown.out)
    assert unexplained(result) == []
    assert abs(sum(row["share"] or 0 for row in result["ledger"]) - 1) < 1e-9
    assert sum(row["tokens"] or 0 for row in result["ledger"]) == result["totals"]["prompt_tokens"]
    assert result["hits"][result["hits"]["headline"]]["tokens"] <= result["totals"]["prompt_tokens"]


def test_the_terminal_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(SAMPLES / "rag-consistent.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert "prompt tokens repeat the beginning of an earlier prompt" in shown
    assert "Heaviest shared branches" in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 86
    assert main(["analyze", str(SAMPLES / "rag-consistent.jsonl"), "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert quiet.out.startswith("100 requests, ")
    assert quiet.out.count("\n") == 1
    assert quiet.err == ""


def test_hash_seeds_do_not_reach_the_bytes(folder: Path) -> None:
    outputs = []
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "radixadvisor",
            "analyze",
            str(SAMPLES / "mixed-apps.jsonl"),
            "--out",
            seed,
        ]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        outputs.append([path.read_bytes() for path in sorted((folder / seed).iterdir())])
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 2


BAD = {
    "empty.jsonl": b"",
    "binary.jsonl": bytes(range(256)) * 64,
    "bad-lines.jsonl": b"not json\n{broken\n[1, 2\n",
    "no-prompts.jsonl": b'{"level": "info"}\n{"level": "warn"}\n',
    "cut.jsonl.gz": gzip.compress(b"\n".join([b'{"prompt": "hello"}'] * 3))[:8],
}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["missing.jsonl"], 2),
        (["folder"], 2),
        (["*.nothing"], 2),
        (["empty.jsonl"], 3),
        (["bad-lines.jsonl"], 3),
        (["no-prompts.jsonl"], 3),
        (["good.jsonl", "--format", "nonsense"], 2),
        (["good.jsonl", "--tokenizer", "nonsense"], 2),
        (["good.jsonl", "--chat-template", "nonsense"], 2),
        (["good.jsonl", "--model", "nonsense"], 2),
        (["good.jsonl", "--kv-dtype", "nonsense"], 2),
        (["good.jsonl", "--since", "yesterdayish"], 2),
        (["good.jsonl", "--where", "model=nobody"], 3),
        (["good.jsonl", "--out", "empty.jsonl"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(arguments: list[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in BAD.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "good.jsonl").write_bytes((SAMPLES / "three.jsonl").read_bytes())
    assert main(["analyze", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("radixadvisor: ")
    assert shown.err.count("\n") == 1
    assert "defect" not in shown.err
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize("name", ["binary.jsonl", "cut.jsonl.gz"])
def test_unreadable_files_are_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_bytes(BAD[name])
    assert main(["analyze", name]) in (2, 3)
    shown = capsys.readouterr()
    assert shown.err.startswith("radixadvisor: ")
    assert name in shown.err
    assert "defect" not in shown.err


def test_bad_lines_are_counted_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (SAMPLES / "three.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "log.jsonl").write_bytes(b"".join([lines[0], b"{broken\n", *lines[1:]]))
    skipped = report(capsys, "log.jsonl")["input"]["skipped"]
    assert skipped["count"] == 1 == sum(skipped["reasons"].values())
    assert list(skipped["examples"].values()) == [["log.jsonl:2"]]
    assert main(["analyze", "log.jsonl"]) == 0
    assert "log.jsonl:2" in capsys.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = SAMPLES / "three.jsonl"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert report(capsys, "-")["totals"] == report(capsys, str(path))["totals"]


def test_every_option_has_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(SAMPLES / "mixed-apps.jsonl")
    plain = report(capsys, log)
    assert report(capsys, log, "--limit", "5")["input"]["requests"] == 5
    model = plain["tokenizers"][0]["models"][0]
    filtered = report(capsys, log, "--where", f"model={model}")
    assert 0 < filtered["input"]["requests"] < plain["input"]["requests"]
    assert [used["models"] for used in filtered["tokenizers"]] == [[model]]
    assert report(capsys, log, "--tokenizer", "cl100k")["tokenizer"]["name"] != plain["tokenizer"]["name"]
    templated = report(capsys, log, "--chat-template", "llama3.1")
    assert {used["template"] for used in templated["tokenizers"]} != {
        used["template"] for used in plain["tokenizers"]
    }
    wide = report(capsys, log, "--model", "llama-3.1-8b")
    narrow = report(capsys, log, "--model", "llama-3.1-8b", "--kv-dtype", "fp8")
    assert wide["model"] == "llama-3.1-8b" == narrow["model"]
    assert wide["kv_bytes_per_token"] == 2 * narrow["kv_bytes_per_token"]
    assert wide["capacity"][-1]["gib"] == pytest.approx(2 * narrow["capacity"][-1]["gib"], abs=2e-6)


def test_measuring_alone_gives_the_same_figures_without_advice(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(SAMPLES / "unique-head.jsonl")
    advised, measured = report(capsys, log), report(capsys, log, "--no-advice")
    assert advised["findings"]
    assert not measured["findings"]
    assert "--no-advice" in measured["not_evaluated"]["findings"]
    assert measured["hits"] == advised["hits"]


def test_since_keeps_what_arrived_later(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        json.dumps(
            {
                "timestamp": 1_700_000_000 + 60 * i,
                "model": "qwen2.5-7b",
                "messages": [{"role": "user", "content": f"{i}"}],
            }
        )
        for i in range(10)
    ]
    (folder / "log.jsonl").write_text("\n".join(lines))
    assert report(capsys, "log.jsonl", "--since", "1700000240")["input"]["requests"] == 6
    assert report(capsys, "log.jsonl", "--since", "2023-11-14T22:17:20Z")["input"]["requests"] == 6


def test_an_assumed_output_length_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.jsonl").write_text(
        '{"model": "qwen2.5-7b", "messages": [{"role": "user", "content": "hello"}]}\n' * 3
    )
    short = report(capsys, "log.jsonl", "--output-tokens", "10")
    assert short["totals"]["output_tokens"] == 30
    assert any("10" in item["text"] for item in short["assumptions"])


def test_the_committed_example_survives_an_ordinary_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill = folder / "outputs" / "skill-radix-scheduler-advisor.md"
    skill.parent.mkdir()
    skill.write_text('---\nname: x\nmetadata:\n  example: "true"\n---\n')
    assert main(["analyze", str(SAMPLES / "three.jsonl"), "--quiet"]) == 0
    assert skill.read_text().startswith("---\nname: x\n")
    assert main(["analyze", str(SAMPLES / "three.jsonl")]) == 0
    assert f"Kept {skill.relative_to(folder)}" in capsys.readouterr().err
    assert main(["analyze", str(SAMPLES / "three.jsonl"), "--out", "outputs"]) == 0
    assert "name: radix-scheduler-advisor" in skill.read_text()


def test_hostile_prompts_stay_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attack = "\x1b]0;owned\x07\x1b[2J\x00 [red]x[/red] | `a` </script><img src=x onerror=alert(1)>\u202e"
    message = {"role": "system", "content": f"{attack} sk-abcdefghijklmnop1234 " * 3}
    line = json.dumps(
        {"model": attack, "session_id": attack, "messages": [message, {"role": "user", "content": "hi"}]}
    )
    (folder / "log.jsonl").write_text(f"{line}\n" * 4)
    assert main(["analyze", "log.jsonl"]) == 0
    shown = capsys.readouterr()
    texts = [shown.out, shown.err, *(path.read_text() for path in (folder / "outputs").iterdir())]
    for text in texts:
        assert not [char for char in text if not char.isprintable() and char != "\n"]
        assert "abcdefghijklmnop1234" not in text
