"""A fast engine that errs is found out on the log's own texts, and replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze, open_trace
from radixadvisor.tokens.vocabularies import BuiltIn


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    rows = [
        {
            "model": "qwen2.5-7b-instruct",
            "messages": [
                {"role": "system", "content": "You answer questions about rented tools."},
                {"role": "user", "content": f"How much is drill number {number} for a week?"},
            ],
        }
        for number in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_wrong_engine_is_replaced_by_its_reference(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, _ = open_trace([log], AnalyzeOptions())
    encode = BuiltIn.encode
    monkeypatch.setattr(BuiltIn, "encode", lambda self, text: encode(self, text.replace("drill", "saw")))
    trace, _ = open_trace([log], AnalyzeOptions())
    assert list(trace.prompts()) == list(right.prompts())
    texts = [item.text for item in analyze([log]).assumptions]
    assert any("differed from its reference" in text for text in texts)


def test_a_right_engine_stays(log: str) -> None:
    trace, _ = open_trace([log], AnalyzeOptions())
    (choice,) = trace.choices
    assert choice is not None
    assert isinstance(choice.tokenizer, BuiltIn)
