"""Advice in every report: complete, in order, within a screen, and harmless."""

from __future__ import annotations

import dataclasses
import json

import pytest
from rich.cells import cell_len

from radixadvisor.diagnose.rules import rule, rules
from radixadvisor.report.advice import advice_view
from radixadvisor.report.advice_markdown import _ORDER
from radixadvisor.report.json import to_dict, to_json
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.terminal import Screen, render
from radixadvisor.report.view import quiet_line
from radixadvisor.results import Analysis
from tests.report.fixtures import HOSTILE, advised, ordinary

SECRET = "sk-" + "a1b2c3d4" * 4


def section(text: str, title: str, end: str) -> str:
    return text[text.index(title) : text.index(end)]


def test_changes_stand_in_order_with_their_findings() -> None:
    view = advice_view(advised())
    assert [(fix.id, [row.rule for row in fix.findings]) for fix in view.fixes] == [
        ("P1", ["RA101"]),
        ("P2", ["RA301"]),
    ]
    assert [row.rule for row in view.unfixed] == ["RA404"]
    assert view.checked == ("RA407",)
    assert view.summary == (
        "2 changes would save 9,500 computed tokens (0.8% of the prompt tokens); the hit rate would be 82.0%."
    )


def test_a_healthy_log_and_one_without_text_read_apart() -> None:
    assert advice_view(ordinary()).summary == "No fault was found in how the prompts are built."
    blind = dataclasses.replace(ordinary(), not_evaluated={"findings": "no text"})
    assert advice_view(blind).summary == ""
    assert "What to change" not in render(blind, Screen()) + to_markdown(blind)
    assert to_dict(blind)["not_evaluated"]["prescriptions"] == "no text"


def test_the_terminal_shows_each_change_with_why_and_where() -> None:
    text = section(render(advised(), Screen(width=100)), "What to change", "Who loses most")
    for part in ("P1", "Mend Time: 09:00", "safe", "9,000", "81.0%", "RA101 A fault", "characters 5-19"):
        assert part in text
    assert "old Time: 09:00 → new Time: 09:00" in text
    assert "prompts grow by 40 tokens" in text
    assert "Tried without gain: RA407." in text


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_it_fits_the_screen_however_much_there_is(width: int) -> None:
    few = advised(HOSTILE)
    many = dataclasses.replace(
        few,
        prescriptions=few.prescriptions * 30,
        findings=few.findings * 30,
        by=dataclasses.replace(few.by, rows=few.by.rows * 50) if few.by else None,
    )
    lines = render(many, Screen(width=width)).splitlines()
    assert max(map(cell_len, lines)) <= width
    start = next(number for number, line in enumerate(lines) if line.startswith("What to change"))
    end = next(number for number, line in enumerate(lines) if line.startswith("Who loses"))
    assert end - start <= 36


def test_losses_are_broken_down() -> None:
    text = section(render(advised(), Screen(width=100)), "Who loses most, by app", "Heaviest")
    assert "seen before, at another place" in text
    assert "(not named)" in text
    rows = to_dict(advised())["by"]
    assert (rows["name"], rows["groups"], rows["rows"][0]["lost_tokens"]) == ("app", 2, 90_000)
    assert "## Who loses most, by app" in to_markdown(advised())
    assert "Who loses most" not in to_markdown(ordinary())


def test_the_skill_tells_what_to_move_why_and_where_to_look() -> None:
    text = section(to_markdown(advised()), "## What to change", "## Hits")
    for number in ("RA101", "RA301"):
        entry = rule(number)
        assert " ".join(entry.why.split()) in text
        for line in (*entry.example.splitlines(), *entry.use_instead.splitlines()):
            assert f"    {line}".rstrip() in text
        assert entry.client_patterns[0] in text
    order = section(text, "### The order of sections", "### What no change")
    assert order.index("Instructions") < order.index("history") < order.index("Memory") < order.index("Clock")
    assert "Tool definitions" not in order


def test_every_rule_of_order_has_its_place_in_the_section_order() -> None:
    placed = {number for _, numbers in _ORDER for number in numbers}
    assert placed <= set(rules())
    assert {number for number in rules() if number[2] in "123"} <= placed


@pytest.mark.parametrize("text", [HOSTILE, SECRET, f"password={SECRET}", "x" * 5000])
def test_text_from_the_log_is_masked_and_inert(text: str) -> None:
    analysis = advised(text)
    shown = [
        render(analysis, Screen()),
        to_markdown(analysis),
        to_json(analysis).decode(),
        quiet_line(analysis),
    ]
    for form in shown:
        assert SECRET not in form
        assert "\x1b" not in form
        assert "\u202e" not in form
        assert "x" * 250 not in form
    skill = section(to_markdown(analysis), "## What to change", "## Hits")
    assert "<img" not in skill.replace("\\<img", "")
    assert "\n# heading" not in skill
    assert json.loads(shown[2])["findings"]


def test_quiet_names_the_saving() -> None:
    assert "2 changes would save 9,500 (82.0%)" in quiet_line(advised())
    assert "change" not in quiet_line(ordinary())


def test_reports_do_not_change_with_order_of_equal_calls() -> None:
    def all_forms(analysis: Analysis) -> tuple[str, str, bytes]:
        return render(analysis, Screen()), to_markdown(analysis), to_json(analysis)

    assert all_forms(advised()) == all_forms(advised())
