"""Faults are found under their rule, at their place, and their fixes gain what is to be gained."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.advice import Advice, advise
from radixadvisor.diagnose.registry import DETECTORS
from tests.diagnose.seen import FAULTS, faulty_trial

SAMPLES = Path(__file__).resolve().parents[2] / "samples"

PLACES = {
    "01-clock-at-system-head": ("RA101", "messages[0].content", 0, 55),
    "02-rotating-attribution-line": ("RA103", "messages[0].content[0].text", r"sum=([0-9a-f]{5})", None),
    "08-memory-in-system-per-turn": ("RA301", "messages[0].content", r"<memory>\n(.*)\n</memory>", None),
    "09-rag-chunks-before-history": ("RA302", "messages[0].content", r"Passages:\n(.*)", None),
    "10-rag-rank-order-permuted": ("RA304", "messages[1].content", r"Passages:\n(.*)\n\nQuestion:", None),
    "18-per-user-header-first": ("RA105", "messages[0].content", r"(member: .*?)\nYou answer", None),
    "31-overlap-clock-hides-memory": ("RA301", "messages[0].content", r"<notes>\n(.*)\n</notes>", None),
}
"""Where a case's fault sits: rule, path, and characters, as numbers or as the first group of a pattern."""


def advice_on(path: Path, tokenizer: str | None = None) -> Advice:
    trace, _ = open_trace([str(path)], AnalyzeOptions(tokenizer=tokenizer))
    return advise(trace)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_generated_faults_are_found(name: str) -> None:
    _, trial = faulty_trial(name)
    assert sorted(found.rule for fix in trial.applied for found in fix.candidates) == sorted(FAULTS[name][0])


def test_every_family_of_prompt_rules_has_its_detectors() -> None:
    numbers = [*range(101, 107), *range(301, 308)]
    assert {f"RA{number}" for number in numbers} <= set(DETECTORS)


@pytest.mark.parametrize("stem", sorted(PLACES))
def test_cases_are_found_at_their_place(stem: str, shared: Path) -> None:
    path = shared / "cases" / f"{stem}.jsonl"
    rule, where, low, high = PLACES[stem]
    advice = advice_on(path, "qwen2.5")
    found = next(found for found in advice.findings if found.rule == rule)
    assert found.where.path == where
    if isinstance(low, str):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        row = next(row for row in rows if row["request_id"] == found.where.request_id)
        match = re.search(low, content_at(row, where), re.DOTALL)
        assert match is not None
        low, high = match.span(1)
    assert abs(found.where.start - low) <= 3
    assert high is not None
    assert abs(found.where.end - high) <= 3


def content_at(row: dict, path: str) -> str:
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", path)]
    content = row["messages"][numbers[0]]["content"]
    return content if len(numbers) == 1 else content[numbers[1]]["text"]


def test_cases_gain_what_their_fixed_logs_gain(shared: Path) -> None:
    checked = 0
    for path in sorted((shared / "cases").glob("*.expect.json")):
        expected = json.loads(path.read_text())
        exact = expected["exact"].get("with_outputs_page1", {})
        if not expected["rules"] or "saved" not in exact:
            continue
        advice = advice_on(path.parent / path.name.replace(".expect.json", ".jsonl"), "qwen2.5")
        assert set(expected["rules"]) <= {found.rule for found in advice.findings}, path.name
        assert advice.trial is not None
        computed = int(advice.trial.before.computed.sum())
        assert computed == exact["computed_before"], path.name
        least = 0.8 if "80 %" in expected["note"] else 0.95
        assert sum(fix.marginal_tokens for fix in advice.prescriptions) >= least * exact["saved"], path.name
        checked += 1
    assert checked >= 12


def test_the_overlapping_case_says_which_fix_comes_first(shared: Path) -> None:
    advice = advice_on(shared / "cases" / "31-overlap-clock-hides-memory.jsonl", "qwen2.5")
    first, second = advice.prescriptions
    assert (first.rules, second.rules) == (("RA101",), ("RA301",))
    assert second.alone_tokens < 0.01 * second.marginal_tokens
    assert first.rate_after == pytest.approx(0.676, abs=0.003)
    assert second.rate_after == pytest.approx(0.846, abs=0.003)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("rag-shuffled", {"RA307"}),
        ("rag-tools-last", {"RA303"}),
        ("unique-head", {"RA101", "RA103"}),
        ("mixed-apps", {"RA101", "RA103", "RA307"}),
    ],
)
def test_faulty_samples_are_found(name: str, rules: set[str]) -> None:
    assert {found.rule for found in advice_on(SAMPLES / f"{name}.jsonl").findings} == rules
