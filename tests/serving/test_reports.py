"""Changes of serving in every report: within the screen, with the setting, apart from the text's."""

from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

from radixadvisor.report.json import to_dict, to_json
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.terminal import Screen, render
from radixadvisor.report.view import quiet_line
from tests.serving.faults import FAULTS, ONLY_TOLD
from tests.serving.seen import analysis_of


def section(text: str, title: str) -> str:
    start = text.index(title)
    return text[start : text.index("\n\n", start)]


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", sorted([*FAULTS, *ONLY_TOLD]))
def test_the_terminal_names_the_rule_and_the_setting(name: str, width: int) -> None:
    analysis = analysis_of(name, 1)
    lines = render(analysis, Screen(width=width)).splitlines()
    assert max(map(cell_len, lines)) <= width
    block = section("\n".join(lines), "What to change, in this order")
    for found in analysis.findings:
        assert f"     {found.rule} " in block
    for change in analysis.prescriptions:
        joined = " ".join(block.split())
        assert f"set: {' '.join(change.setting.split())}" in joined
    assert ("To know:" in block) == (not analysis.prescriptions)


@pytest.mark.parametrize("name", sorted([*FAULTS, *ONLY_TOLD]))
def test_the_skill_and_the_json_hold_it_all(name: str) -> None:
    analysis = analysis_of(name, 1)
    skill = to_markdown(analysis)
    rows = json.loads(to_json(analysis))
    for change, row in zip(analysis.prescriptions, rows["prescriptions"], strict=True):
        assert change.setting.replace("`", "") in skill
        assert f"Hit rate of {change.profile} then" in skill
        assert (row["edit"], row["profile"], row["setting"]) == ("serving", change.profile, change.setting)
    assert "### The order of sections to use" not in skill
    for found, row in zip(analysis.findings, rows["findings"], strict=True):
        assert f"**{found.rule}**" in skill
        assert (row["rule"], row["kind"], row["profile"]) == (found.rule, found.kind, found.profile)
        assert ("rates" in row) == (found.rates is not None)


def test_the_summary_tells_text_and_serving_apart() -> None:
    analysis = analysis_of("replicas_in_turn", 1)
    change = analysis.prescriptions[0]
    shown = " ".join(render(analysis, Screen(width=100)).split())
    assert "No fault was found in how the prompts are built. In serving, 1 change would save" in shown
    assert f"under sglang; its hit rate would be {change.rate_after:.1%}." in shown
    assert "as the log was served" in shown
    assert "1 change in serving would save" in quiet_line(analysis)


def test_the_range_of_replicas_is_a_line() -> None:
    analysis = analysis_of("one_cache_taken_for_four", 1, told=False)
    rows = to_dict(analysis)["replica_range"]
    assert [row["replicas"] for row in rows] == [1, 2, 4, 8]
    shown = " ".join(render(analysis, Screen(width=100)).split())
    assert f"would serve 1: {rows[0]['rate']:.1%}, 2: {rows[1]['rate']:.1%}" in shown
