"""The rules as documents: complete, consistent, shown in full, and refused with a reason when broken."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from radixadvisor.cli import main
from radixadvisor.diagnose.rules import FAMILIES, read_rule, rule, rules
from radixadvisor.errors import UsageError
from radixadvisor.paths import data_dir

NUMBERED = {"volatile": "1", "tools": "2", "order": "3", "history": "4", "serving": "5"}
PAGE = data_dir("rules") / "diagnoses" / "RA401.toml"


def test_the_numbers_of_each_family_have_no_gap() -> None:
    for family in FAMILIES:
        numbers = [int(entry.id[3:]) for entry in rules().values() if entry.family == family]
        assert numbers == list(range(1, len(numbers) + 1))
        assert {entry.id[2] for entry in rules().values() if entry.family == family} == {NUMBERED[family]}


def test_names_titles_and_texts_are_their_own() -> None:
    entries = list(rules().values())
    for field in ("name", "title", "what", "why", "example", "use_instead", "fix_safety"):
        texts = [getattr(entry, field) for entry in entries]
        assert len(set(texts)) == len(texts), field
    assert all(entry.example != entry.use_instead for entry in entries)


def test_every_rule_of_the_reference_list_is_documented(shared: Path) -> None:
    listed = re.findall(
        r"^\| (RA\d{3}) \| ([^|]+) \|.*\| ([^|]+) \|$", (shared / "RULES.md").read_text(), re.M
    )
    assert [number for number, _, _ in listed] == list(rules())
    for number, _, safety in listed:
        word = safety.split()[0]
        assert rule(number).safety == ("none" if word == "-" else word), number


@pytest.mark.parametrize("number", list(rules()))
def test_a_page_shows_everything(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", number]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    entry = rules()[number]
    sections = ["What it does", "Why it costs", "Example", "Use instead", "Fix safety", "Client patterns"]
    places = [shown.index(f" {title} ") for title in sections]
    assert places == sorted(places)
    parts = [entry.title, entry.what, entry.why, entry.fix_safety, *entry.client_patterns, *entry.references]
    for text in parts:
        assert " ".join(text.split()).replace(" ", "") in shown.replace(" ", "")
    assert ("does not look for it" in shown) is not entry.detected


def test_the_table_names_every_rule_and_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for entry in rules().values():
        assert [line for line in lines if line.startswith(f"{entry.id}  {entry.title} ")]


def test_names_and_case_do(capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for name in ("RA101", "ra101", "clock-in-prefix", "Clock-In-Prefix"):
        assert main(["rules", name]) == 0
        pages.append(capsys.readouterr().out)
    assert len(set(pages)) == 1


def test_an_unknown_rule_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "RA41"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Unknown rule 'RA41'. Did you mean ra4" in shown.err


def test_json_is_the_whole_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["rules", "--json", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.encode() == (tmp_path / "rules.json").read_bytes()
    listed = json.loads(text)["rules"]
    assert [row["id"] for row in listed] == list(rules())
    assert main(["rules", "RA401", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page.pop("schema") == "radixadvisor/rules/1"
    assert page == next(row for row in listed if row["id"] == "RA401")
    assert page["thresholds"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (('safety = "review"', 'safety = "perhaps"'), "safety"),
        (('edit = "text"', 'edit = "none"'), "safety and edit"),
        (('id = "RA401"', 'id = "RA402"'), "id"),
        (('severity = "high"', 'severity = "dire"'), "severity"),
        (('title = "', 'titel = "'), "titel"),
        (("checked = 2026-12-01\n", ""), "checked"),
        (('family = "history"', "family = "), "RA401.toml"),
    ],
)
def test_a_broken_page_says_what_is_wrong(change: tuple[str, str], named: str, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / "RA401.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(UsageError, match=named):
        read_rule(path)
