"""The forms that build servers read, each held to a reader of that form; no prompt text in any."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from sarif_pydantic import Sarif

from radixadvisor.cli import main
from tests.lock.traffic import template, traffic, written

FORMS = ("text", "json", "sarif", "junit", "github")
HOSTILE = ("</testcase><x>&\"'", "a,b::c%0A::error::x", "\x1b[31mred\x00", "[link](javascript:x) |`<img>`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("forms")
    parts = []
    for number, app in enumerate(HOSTILE):
        made = template(number)
        parts.append(traffic(made, number, conversations=12, app=app))
    written(where / "good.jsonl", *parts)
    assert main(["check", str(where / "good.jsonl"), "--min-hit-rate", "1%", "--out", str(where), "-q"]) == 0
    assert main(["lock", str(where / "good.jsonl"), "-o", str(where / "p.lock"), "-q"]) == 0
    parts = []
    for number, app in enumerate(HOSTILE):
        made = template(number)

        def head(rng: object, made: object = made) -> str:
            return f"canary-{rng.random():.12f}\n" + made.system

        parts.append(traffic(made, number + 70, conversations=12, app=app, system=head))
    written(where / "bad, 100%.jsonl", *parts)
    return where


def shown(folder: Path, log: str, form: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = main(
        [
            *("check", str(folder / log), "--format", form, "--min-hit-rate", "0.5", "--max-lost", "all=1%"),
            *("--max-lost", "replicas=1%", "--against", str(folder / "report.json"), "--no-new-findings"),
            *("--lock", str(folder / "p.lock")),
        ]
    )
    return code, capsys.readouterr().out


def body(folder: Path, log: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = json.loads(shown(folder, log, "json", capsys)[1])
    return found


def test_every_form_ends_with_the_same_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {shown(folder, "bad, 100%.jsonl", form, capsys)[0] for form in FORMS} == {1}
    assert {shown(folder, "good.jsonl", form, capsys)[0] for form in FORMS} == {3}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_prompts_or_raw_control_characters(
    form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(folder, "bad, 100%.jsonl", form, capsys)[1]
    assert "canary" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert "Part 0 of" not in text


@pytest.mark.parametrize("log", ["good.jsonl", "bad, 100%.jsonl"])
def test_sarif_is_valid_and_places_what_failed(
    log: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(folder, log, "sarif", capsys)[1]
    sarif = Sarif.model_validate_json(text)
    (run,) = sarif.runs
    assert sarif.version == "2.1.0"
    known = {rule.id for rule in run.tool.driver.rules or ()}
    results = run.results or ()
    gates = body(folder, log, capsys)["gates"]
    failed = [gate for gate in gates if gate["status"] == "FAIL"]
    assert bool(failed) == any(str(getattr(item.level, "value", item.level)) == "error" for item in results)
    for item in results:
        assert item.rule_id in known
        assert item.message.text
        for location in item.locations or ():
            physical = location.physical_location
            assert physical is not None and physical.artifact_location is not None
            assert unquote(physical.artifact_location.uri or "").endswith(log)
            assert physical.region is not None and (physical.region.start_line or 0) >= 1


@pytest.mark.parametrize("log", ["good.jsonl", "bad, 100%.jsonl"])
def test_junit_has_a_case_for_each_gate(log: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xml = JUnitXml.fromstring(shown(folder, log, "junit", capsys)[1].encode())
    suites = [xml] if isinstance(xml, TestSuite) else list(xml)
    cases = [case for suite in suites for case in suite]
    gates = body(folder, log, capsys)["gates"]
    if log == "good.jsonl":
        # Readers take a skipped case for a pass: what could not be evaluated is an error of its own.
        (error,) = cases.pop().result
        assert isinstance(error, Error)
    assert len(cases) == len(gates)
    kinds = {"FAIL": Failure, "SKIP": Skipped}
    for case, gate in zip(cases, gates, strict=True):
        assert [type(result) for result in case.result] == [
            kinds[status] for status in [gate["status"]] if status != "PASS"
        ]
    assert sum(suite.failures for suite in suites) == sum(gate["status"] == "FAIL" for gate in gates)
    assert sum(suite.errors for suite in suites) == (log == "good.jsonl")


def test_github_annotates_and_nothing_from_the_log_begins_a_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(folder, "bad, 100%.jsonl", "github", capsys)[1]
    lines = text.splitlines()
    assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in lines)
    gates = body(folder, "bad, 100%.jsonl", capsys)["gates"]
    assert sum("title=FAIL" in line for line in lines) == sum(gate["status"] == "FAIL" for gate in gates)
    placed = [line for line in lines if "file=" in line]
    assert placed
    assert all("bad%2C 100%25.jsonl,line=" in line for line in placed)


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(
    columns: int, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = shown(folder, "bad, 100%.jsonl", "text", capsys)[1]
    assert max(map(len, text.splitlines())) <= columns


def test_the_same_check_gives_the_same_bytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in FORMS:
        first = shown(folder, "bad, 100%.jsonl", form, capsys)
        assert shown(folder, "bad, 100%.jsonl", form, capsys) == first
