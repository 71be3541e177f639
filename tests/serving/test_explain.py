"""explain says that the text is innocent, and names what serving did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.cli import main
from tests.serving.faults import FAULTS
from tests.serving.logs import chats, save
from tests.serving.seen import expected_hits

CASES = {
    "effort_in_the_prompt": ("r-0010", "parameter", "RA501", "reasoning_effort changed"),
    "model_by_turn": ("r-0010", "parameter", "RA501", "model changed"),
    "tool_choice_behind_the_system": ("r-0016", "parameter", "RA501", "tool_choice changed"),
    "salt_per_session": ("r-0002", "isolation", "RA503", "another cache_salt"),
    "pauses_longer_than_claude_remembers": ("r-0017", "ttl", "RA504", "600 s before, entries live 300 s"),
    "short_prompts_for_gpt": ("r-0009", "minimum", "RA505", "openai caches from 1,024"),
    "fan_out_on_an_engine": ("r-0010", "in flight", "RA506", "still computed for r-000"),
    "replicas_in_turn": ("r-0009", "replica", "RA507", "this request went to gpu-"),
    "cache_key_per_user": ("r-0005", "replica", "RA507", "another machine of openai"),
    "some_without_marks": ("r-0012", "breakpoints", "RA510", "behind the last entry"),
}


def explained(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["explain", str(path), name, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("fault", sorted(CASES))
def test_the_cause_is_named(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request, name, rule, words = CASES[fault]
    path = save(tmp_path / "log.jsonl", FAULTS[fault][1](1))
    shown = explained(path, request, capsys)
    first = shown["causes"][0]
    assert (first["name"], first["rule"]) == (name, rule)
    assert words in first["text"]
    assert 0 < first["tokens"] <= shown["prompt_tokens"]
    assert shown["innocent"]
    assert main(["explain", str(path), request]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The text is innocent: serving lost the most." in text
    assert first["text"] in text
    assert main(["explain", str(path), request, "--quiet"]) == 0
    assert f"The text is innocent. {first['text']}" in capsys.readouterr().out


def test_a_bypass_is_named_though_another_engine_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "log.jsonl", FAULTS["logprobs_of_the_prompt"][1](1))
    shown = explained(path, "r-0003", capsys)
    assert [(cause["rule"], cause["profile"]) for cause in shown["causes"]] == [("RA502", "vllm")]
    assert [fix["id"] for fix in shown["after_fixes"]] == ["P1"]


def test_a_miss_without_a_reason_is_unexplained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = chats(61, lines=60)
    hits = expected_hits(rows)
    for row in rows:
        tokens, length = hits[row["request_id"]]
        told = 0 if row["request_id"] == "r-0012" else tokens
        row["usage"] = {"prompt_tokens": length, "prompt_tokens_details": {"cached_tokens": told}}
    path = save(tmp_path / "log.jsonl", rows)
    shown = explained(path, "r-0012", capsys)
    assert [(cause["name"], cause["rule"]) for cause in shown["causes"]] == [("unexplained", "RA512")]
    assert "Nothing in the log explains it." in shown["causes"][0]["text"]
    assert shown["innocent"]
    assert explained(path, "r-0013", capsys)["causes"] == []


def test_a_fault_of_the_text_leaves_the_text_guilty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = chats(62)
    for number, row in enumerate(rows):
        row["messages"][0]["content"] = f"Request {number * 7919}.\n{row['messages'][0]['content']}"
    shown = explained(save(tmp_path / "log.jsonl", rows), "r-0012", capsys)
    assert shown["causes"] == []
    assert not shown["innocent"]
