"""Reported cached tokens against what the rules say, over the requests that report any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import radixadvisor
from radixadvisor.results import Analysis

WORDS = "The quick brown fox jumps over the lazy dog near the river bank. "


def log(tmp_path: Path, cached: list[int | None]) -> Analysis:
    """Equal prompts with other questions; each may report cached tokens."""
    path = tmp_path / "log.jsonl"
    rows = []
    for number, tokens in enumerate(cached):
        row: dict[str, Any] = {
            "id": f"r{number}",
            "timestamp": 1_750_000_000 + 60 * number,
            "model": "qwen2.5-7b",
            "messages": [
                {"role": "system", "content": WORDS * 20},
                {"role": "user", "content": f"{number} what now?"},
            ],
        }
        usage: dict[str, Any] = {"prompt_tokens": 300, "completion_tokens": 5}
        if tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": tokens}
        row["response"] = {
            "choices": [{"message": {"role": "assistant", "content": "Nothing."}, "finish_reason": "stop"}],
            "usage": usage,
        }
        rows.append(json.dumps(row))
    path.write_text("\n".join(rows))
    return radixadvisor.analyze(str(path), advice=False).analysis


def test_a_server_that_does_what_the_rules_say(tmp_path: Path) -> None:
    silent = log(tmp_path, [None] * 4)
    assert silent.reported_cached_tokens is None and silent.calibration_error is None
    total = silent.predicted_cached_tokens
    assert total is not None
    found = log(tmp_path, [0, *[total // 3] * 3])
    assert found.calibration_error == pytest.approx(0, abs=0.02)
    assert not any("reports" in item.text for item in found.assumptions)


def test_a_server_that_caches_nothing_is_told(tmp_path: Path) -> None:
    found = log(tmp_path, [0, 0, 0, 0])
    assert found.calibration_error is not None and found.calibration_error > 0.5
    assert any("reports 0.0% of the prompt tokens as cached" in item.text for item in found.assumptions)


def test_only_requests_that_report_are_compared(tmp_path: Path) -> None:
    whole = log(tmp_path, [0, 0, 0, 0])
    part = log(tmp_path, [None, 0, None, None])
    assert part.predicted_cached_tokens is not None and whole.predicted_cached_tokens is not None
    assert part.predicted_cached_tokens == pytest.approx(whole.predicted_cached_tokens / 3, rel=0.02)
