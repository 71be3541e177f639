"""A prediction and a verdict in every report: widths, tables, reasons, and figures that are missing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import radixadvisor
from radixadvisor.report.json import to_dict
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.prediction import milliseconds
from radixadvisor.report.terminal import Screen, render
from radixadvisor.report.verdict import reason_line
from radixadvisor.results import Analysis
from radixadvisor.verdict import Reason
from tests.report.fixtures import hostile, ordinary
from tests.report.test_json import unexplained

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SETTINGS = {
    "no card": {},
    "overload": {"gpu": "l4", "rate": 40.0},
    "half of it": {"gpu": "h100", "rate": 30.0},
    "against vllm": {"gpu": "h100", "baseline": "vllm"},
}


@cache
def predicted(setting: str) -> Analysis:
    found = radixadvisor.analyze(str(SAMPLES / "rag-shuffled.jsonl"), **SETTINGS[setting]).analysis
    assert found.prediction is not None and found.verdict is not None
    return replace(
        ordinary(),
        prediction=found.prediction,
        verdict=found.verdict,
        not_evaluated={
            **ordinary().not_evaluated,
            **{f"prediction.{name}": reason for name, reason in found.prediction.missing.items()},
        },
    )


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_wider_than_the_screen(setting: str, width: int) -> None:
    for screen in (Screen(width), Screen(width, unicode=False)):
        shown = render(predicted(setting), screen)
        assert max(map(len, shown.splitlines())) <= width
        assert "What it is worth" in shown and "no cache" in shown
        assert screen.unicode or shown.isascii()


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_is_null_has_its_reason(setting: str) -> None:
    assert unexplained(to_dict(predicted(setting))) == []


@pytest.mark.parametrize("setting", SETTINGS)
def test_tables_have_as_many_cells_in_every_row(setting: str) -> None:
    text = to_markdown(predicted(setting))
    section = text[text.index("## What it is worth") : text.index("## Hits")]
    tables = re.findall(r"(?:^\|.*\|\n)+", section, re.M)
    assert len(tables) == 2
    for table in tables:
        cells = {len(re.split(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(cells) == 1
    assert "## Decision" in text


def test_a_hostile_log_gets_its_decision_too() -> None:
    found = replace(
        hostile(), prediction=predicted("overload").prediction, verdict=predicted("overload").verdict
    )
    assert "<script" not in to_markdown(found)
    assert "\x1b" not in render(found, Screen(80))


def test_times_and_values_in_words() -> None:
    assert [milliseconds(value) for value in (None, 0.00123, 0.0345, 1.5)] == ["-", "1.2", "34.5", "1,500"]
    assert reason_line(Reason("prefill time saved", 0.5, 0.15, True, "share")) == (
        "prefill time saved 50.0% (threshold 15.0%)"
    )
    assert reason_line(Reason("tokens", 1748.4, 64, True, "count")) == "tokens 1,748 (threshold 64)"
