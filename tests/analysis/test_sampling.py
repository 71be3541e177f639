"""Logs that hold a part of the traffic, and logs that only look so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from radixadvisor.analysis import AnalyzeOptions, analyze, open_trace
from radixadvisor.analysis.sampling import Sampled, sampled
from radixadvisor.paths import data_dir

Row = dict[str, Any]


def conversations(sessions: int = 8, turns: int = 6) -> list[Row]:
    rows = []
    for session in range(sessions):
        messages = [{"role": "system", "content": "You answer questions about rented tools."}]
        for turn in range(turns):
            messages.append({"role": "user", "content": f"Question {turn} of customer {session}?"})
            body = {"model": "qwen2.5-7b-instruct", "messages": list(messages)}
            rows.append({"request_id": f"q{len(rows)}", "metadata": {"session_id": f"s{session}"}, **body})
            messages.append({"role": "assistant", "content": f"Answer {turn} for customer {session}."})
    return rows


def sign(rows: list[Row], folder: Path) -> Sampled | None:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sampled(open_trace([str(path)], AnalyzeOptions())[0])


def test_a_whole_log_is_no_sample(tmp_path: Path) -> None:
    assert sign(conversations(), tmp_path) is None


def test_gaps_in_running_numbers_tell(tmp_path: Path) -> None:
    found = sign(conversations()[::2], tmp_path)
    assert found is not None
    assert 0.45 < found.share < 0.55


def test_answers_without_their_requests_tell(tmp_path: Path) -> None:
    rows = [
        {**row, "request_id": f"{number:08x}-q"}
        for number, row in enumerate(conversations())
        if number % 6 == 5
    ]
    found = sign(rows, tmp_path)
    assert found is not None
    assert found.share < 0.5


def test_examples_in_the_prompt_are_no_missing_answers(tmp_path: Path) -> None:
    example = [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Yes."}] * 9
    rows = conversations(sessions=30, turns=1)
    for number, row in enumerate(rows):
        row["messages"][1:1] = example
        row["request_id"] = f"{number:08x}-q"
    assert sign(rows, tmp_path) is None


def test_samples_are_whole_and_a_part_of_one_says_so(tmp_path: Path) -> None:
    for path in sorted(data_dir("samples").glob("*.jsonl")):
        assert sampled(open_trace([str(path)], AnalyzeOptions())[0]) is None, path.name
    path = tmp_path / "part.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in conversations(sessions=12)[::3]))
    assert any("sample" in item.text for item in analyze([str(path)]).assumptions)
