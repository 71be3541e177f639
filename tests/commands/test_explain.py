"""``explain`` from the command line: its forms, its errors, and text made harmless."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.cli import main
from radixadvisor.report.explain import split_masked

THREE = "samples/three.jsonl"
SECRET = "sk-" + "a1b2c3d4" * 4


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    system = "A long and patient instruction. " * 4
    texts = [f"key {SECRET} \x1b[31m", "key unknown [bold]x[/] <b>"]
    rows = [
        {
            "request_id": f"id-{number}",
            "model": "qwen2.5-7b-instruct",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
        }
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_both_sides_are_shown_and_harmless(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", log, "id-1"]) == 0
    shown = capsys.readouterr().out
    assert "It parts from id-0 in the user turn 2." in shown
    assert "messages[1].content, character 3" in shown
    assert "key unknown [bold]x[/] <b>" in shown
    assert SECRET not in shown
    assert "\x1b" not in shown


def test_json_alone_on_standard_output(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", log, "id-1", "--json", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert text.encode() == (tmp_path / "out" / "explain.json").read_bytes()
    assert SECRET not in text
    found = json.loads(text)
    assert found["schema"] == "radixadvisor/explain/1"
    assert (
        found["divergence"]["this"]["path"] == found["divergence"]["other"]["path"] == "messages[1].content"
    )
    assert found["match"]["request_id"] == "id-0"
    assert found["after_fixes"] == []
    assert sum(row["tokens"] for row in found["ledger"]) == found["prompt_tokens"]


def test_the_first_request_has_nothing_before_it(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", log, "id-0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["match"] is found["divergence"] is None


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_line_is_wider_than_the_screen(
    width: str, log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    for arguments in (["id-1"], ["--worst", "9"]):
        assert main(["explain", log, *arguments]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= int(width)


def test_the_worst_ids_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "samples/rag-shuffled.jsonl", "--worst", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["worst"]
    assert len(rows) == 3
    assert main(["explain", "samples/rag-shuffled.jsonl", "--worst", "3", "--quiet"]) == 0
    assert capsys.readouterr().out == " ".join(row["request_id"] for row in rows) + "\n"
    assert main(["explain", "samples/rag-shuffled.jsonl", rows[0]["request_id"], "--quiet"]) == 0
    assert capsys.readouterr().out.startswith(f"{rows[0]['request_id']}: ")


def test_a_log_that_loses_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"prompt": "only this", "model": "qwen2.5-7b-instruct"}) + "\n")
    assert main(["explain", str(path), "--worst", "1"]) == 0
    assert "No request loses a token" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing-like-it"], "explain takes a log and the id of one request"),
        ([THREE, "nothing-like-it"], "No request 'nothing-like-it' in the log."),
        ([THREE, "--worst", "0"], "--worst"),
        (["samples/none-here.jsonl", "x"], "samples/none-here.jsonl"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_a_secret_across_the_border_is_hidden_whole() -> None:
    lead, text = split_masked("the key is " + SECRET[:12], SECRET[12:] + " and more")
    assert SECRET[3:12] not in lead
    assert text.endswith("and more")
    assert not any(SECRET[start : start + 6] in lead + text for start in range(3, len(SECRET) - 6))
    assert split_masked("plain ", "words") == ("plain ", "words")
