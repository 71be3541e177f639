"""Two reports of a log before and after a change: what moved, what is noise, what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.analysis.diff import quantile
from radixadvisor.cli import main
from tests.gate.test_check import faulty, healthy

Body = dict[str, Any]


def report(log: Path, out: Path, *options: str) -> Path:
    assert main(["analyze", str(log), "--out", str(out), "-q", *options]) == 0
    return out / "report.json"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    where = tmp_path_factory.mktemp("diff")
    logs = {
        "monday": healthy(where / "monday.jsonl", 1),
        "tuesday": healthy(where / "tuesday.jsonl", 2),
        "broken": faulty(where / "broken.jsonl", 3),
        "broken too": faulty(where / "broken2.jsonl", 4),
    }
    found = {name: report(log, where / name) for name, log in logs.items()}
    found["plain"] = report(logs["monday"], where / "plain", "--no-advice")
    found["counted"] = report(logs["monday"], where / "counted", "--tokenizer", "cl100k")
    return found


def compared(before: Path, after: Path, capsys: pytest.CaptureFixture[str]) -> Body:
    capsys.readouterr()
    assert main(["diff", str(before), str(after), "--json"]) == 0
    body: Body = json.loads(capsys.readouterr().out)
    return body


def rows(body: Body, field: str) -> dict[str, Body]:
    return {row["profile" if field == "rates" else "bucket"]: row for row in body[field]}


def test_a_fix_shows_in_rates_ledger_and_findings(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    body = compared(reports["broken"], reports["monday"], capsys)
    assert body["outcome"] == "better"
    gone = body["findings"]["gone"]
    assert [item["rule"] for item in gone] == ["RA101"]
    assert body["findings"]["new"] == []
    before, after = (json.loads(reports[name].read_text()) for name in ("broken", "monday"))
    for name, row in rows(body, "rates").items():
        assert row["before"] == pytest.approx(before["hits"][name]["rate"], abs=1e-6)
        assert row["after"] == pytest.approx(after["hits"][name]["rate"], abs=1e-6)
    assert rows(body, "rates")["sglang"]["beyond_noise"] is True
    assert rows(body, "ledger")["order"]["change"] < 0


def test_the_way_back_is_worse_by_the_same(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    there = compared(reports["broken"], reports["monday"], capsys)
    back = compared(reports["monday"], reports["broken"], capsys)
    assert back["outcome"] == "worse"
    assert [item["rule"] for item in back["findings"]["new"]] == ["RA101"]
    for name, row in rows(there, "rates").items():
        other = rows(back, "rates")[name]
        assert other["change"] == pytest.approx(-row["change"], abs=1e-9)
        assert other["interval"]["low"] == pytest.approx(-row["interval"]["high"], abs=1e-9)


@pytest.mark.parametrize("pair", [("monday", "tuesday"), ("broken", "broken too"), ("monday", "monday")])
def test_days_of_the_same_traffic_differ_by_noise(
    pair: tuple[str, str], reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    body = compared(reports[pair[0]], reports[pair[1]], capsys)
    assert body["outcome"] == "within_noise"
    assert body["findings"]["gone"] == body["findings"]["new"] == []


def test_a_report_without_findings_says_why_none_are_compared(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    body = compared(reports["broken"], reports["plain"], capsys)
    assert body["findings"] is None
    assert "--no-advice" in json.dumps(body)


def test_other_vocabularies_are_named(reports: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert not compared(reports["monday"], reports["monday"], capsys)["doubts"]
    doubts = compared(reports["monday"], reports["counted"], capsys)["doubts"]
    assert any("cl100k" in text for text in doubts), doubts


def test_screens_fit_and_the_quiet_one_is_a_line(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [str(reports["broken"]), str(reports["monday"])]
    for columns in (60, 80, 140):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["diff", *pair]) == 0
        text = capsys.readouterr().out
        assert "RA101" in text
        assert max(map(len, text.splitlines())) <= columns
    assert main(["diff", *pair, "--quiet"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "radixadvisor/check/1"}', "{"])
def test_other_files_are_wrong_usage(
    content: str, which: int, reports: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = [str(reports["monday"]), str(reports["monday"])]
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    pair[which] = str(bad)
    assert main(["diff", *pair]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "bad.json" in shown.err.replace("\n", "")


# 97.5 % points of Student's t as printed tables have them.
@pytest.mark.parametrize(("freedom", "value"), [(5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)])
def test_quantiles_are_those_of_the_tables(freedom: int, value: float) -> None:
    assert quantile(freedom) == pytest.approx(value, abs=0.012)
    assert quantile(freedom) > quantile(10 * freedom) > 1.959


def test_intervals_hold_what_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six pairs of days of one traffic: the 95 % interval of a rate leaves out 0 in one of them at most."""
    days = [report(healthy(tmp_path / f"{seed}.jsonl", seed), tmp_path / f"{seed}") for seed in range(20, 32)]
    outside = [
        rows(compared(one, two, capsys), "rates")["sglang"]["beyond_noise"]
        for one, two in zip(days[::2], days[1::2], strict=True)
    ]
    assert None not in outside
    assert sum(outside) <= 1
    told = rows(compared(days[0], days[1], capsys), "rates")["sglang"]["interval"]
    assert 0 < told["high"] - told["low"] < 0.2
