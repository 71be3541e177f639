"""The formats command: every dialect has its texts, and its example is recognised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.cli import main
from radixadvisor.ingest import read_log
from radixadvisor.ingest.dialects import registry
from radixadvisor.ingest.handbook import entries, entry

ANSWERS = {
    *("prompts", "tokens", "block hashes", "times", "sessions", "token counts", "cached tokens", "outputs"),
    *("latency", "time to first token"),
}


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_dialect_tells_what_it_answers_and_how_to_get_it(name: str, tmp_path: Path) -> None:
    found = entry(name)
    assert found.title and found.how.endswith(".") and found.answers
    assert set(found.answers) <= ANSWERS
    if "Parquet" in found.example:
        return
    path = tmp_path / "example"
    path.write_text(found.example + "\n")
    assert read_log(path).dialect == name
    # A log that always lacks prompts says so; one that answers for them can be read.
    assert found.missing or {"prompts", "block hashes"} & set(found.answers)


def test_the_list_and_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    shown = capsys.readouterr().out
    assert all(each.name in shown for each in entries())
    assert main(["formats", "--how", "Claude-Code"]) == 0
    assert "~/.claude/projects" in capsys.readouterr().out
    assert main(["formats", "--how", "no-such"]) == 2
    assert "Unknown format" in capsys.readouterr().err


def test_formats_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["formats", "--json", "--quiet", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    document = json.loads(printed)
    assert document["schema"] == "radixadvisor/formats/1"
    assert [each["name"] for each in document["formats"]] == sorted(registry())
    assert (tmp_path / "formats.json").read_text() == printed
    assert main(["formats", "--json", "--how", "vllm"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["formats"]] == ["vllm_log_requests"]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("azure_llm_trace.csv", "lengths only"),
        ("tgi_router.log", "no prompts"),
        ("openrouter_generation.jsonl", "1573 prompt tokens"),
        ("llamacpp_server.log", "4094 cached prompt tokens"),
        ("sglang_log_requests_text.log", "--log-requests-level 3"),
    ],
)
def test_a_log_without_prompts_ends_with_one_sentence(
    log: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = Path(__file__).parents[1] / "data" / "formats" / log
    assert main(["analyze", str(path), "--out", str(tmp_path)]) == 3
    told = capsys.readouterr().err
    assert words in told and "formats --how" in told and "Traceback" not in told
    assert list(tmp_path.iterdir()) == []
