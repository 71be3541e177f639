"""Losses by application, tenant, model and session add up to the log's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze
from radixadvisor.analysis.options import BREAKDOWNS
from radixadvisor.cli import main
from radixadvisor.errors import UnknownName
from radixadvisor.paths import data_dir

SAMPLE = str(data_dir("samples") / "mixed-apps.jsonl")


@pytest.mark.parametrize("by", BREAKDOWNS)
def test_groups_add_up_to_the_log(by: str) -> None:
    analysis = analyze([SAMPLE], AnalyzeOptions(by=by))
    assert analysis.by is not None
    rows = analysis.by.rows
    ledger = {row.bucket: row.tokens or 0 for row in analysis.ledger}
    assert sum(row.requests for row in rows) == analysis.input.requests
    assert sum(row.prompt_tokens for row in rows) == analysis.totals.prompt_tokens
    assert sum(row.served_tokens for row in rows) == ledger["served"]
    lost = sum(tokens for bucket, tokens in ledger.items() if bucket not in ("served", "first_seen"))
    assert sum(row.lost_tokens for row in rows) == lost > 0
    assert [row.lost_tokens for row in rows] == sorted((row.lost_tokens for row in rows), reverse=True)
    assert len({row.name for row in rows}) == len(rows)
    assert all((row.cause is None) == (row.lost_tokens == 0) for row in rows)


def test_the_command_prints_and_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", SAMPLE, "--by", "model", "--out", str(tmp_path)]) == 0
    assert "Who loses most, by model" in capsys.readouterr().out
    found = json.loads((tmp_path / "report.json").read_text())["by"]
    assert found["name"] == "model"
    assert found["groups"] == len(found["rows"]) > 1


def test_an_unknown_breakdown_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="Did you mean tenant"):
        AnalyzeOptions(by="tenants")
