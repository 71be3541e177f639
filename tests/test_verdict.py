"""Decisions: the samples', each kind of refusal, and thresholds that turn them."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import radixadvisor
from radixadvisor.verdict import (
    AFTER_FIXES,
    GO,
    INSUFFICIENT,
    NO_GO,
    Case,
    Evidence,
    Verdict,
    decide,
    read_thresholds,
)

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
GAIN = Case(3.0, 2.0, 4.0, 0.7, 900.0, 0.0, 0.8)
NOTHING = Case(1.01, 0.9, 1.1, 0.01, 10.0, 0.0, 0.02)
SMALL = Case(1.02, 0.95, 1.08, 0.02, 8.0, 0.79, 0.8)


def evidence(
    given: Case = GAIN, over_vllm: Case = SMALL, fixed: Case | None = None, **changes: Any
) -> Evidence:
    found = Evidence(
        requests=100,
        prompt_tokens=100_000,
        repeated=0.8,
        prefill_share=0.9,
        given={"none": given, "vllm": over_vllm},
        fixed=None if fixed is None else {"none": fixed, "vllm": SMALL},
        reported=None,
    )
    return replace(found, **changes)


@cache
def sample(name: str, **options: Any) -> Verdict:
    found = radixadvisor.analyze(str(SAMPLES / f"{name}.jsonl"), **options).analysis.verdict
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("rag-consistent", GO),
        ("agent-tools", GO),
        ("long-system-chat", GO),
        ("rag-shuffled", AFTER_FIXES),
        ("unique-head", AFTER_FIXES),
        ("one-shots", NO_GO),
        ("three", INSUFFICIENT),
    ],
)
def test_decisions_of_the_samples(name: str, decision: str) -> None:
    found = sample(name)
    assert found.main.decision == decision and found.main.baseline == "none"
    assert found.main.reasons and found.main.robust


def test_a_workload_at_its_ceiling_under_vllm() -> None:
    found = sample("rag-consistent", baseline="vllm")
    assert found.main.decision == NO_GO
    ceiling = [reason for reason in found.main.reasons if "vllm serves already" in reason.text]
    assert ceiling and ceiling[0].value > 0.95 and not ceiling[0].holds
    assert found.main == found.against_vllm == sample("rag-consistent").against_vllm


def test_a_card_does_not_turn_a_sample() -> None:
    assert sample("rag-shuffled", gpu="h100").main.decision == AFTER_FIXES


def test_reasons_that_decide_come_first() -> None:
    refused = decide(evidence(replace(NOTHING, tokens=500.0)), "none").main
    assert refused.decision == NO_GO
    holds = [reason.holds for reason in refused.reasons]
    assert holds == sorted(holds) and not holds[0] and holds[-1]
    accepted = decide(evidence(), "none").main
    assert accepted.decision == GO and accepted.reasons[0].holds
    distances = [abs(reason.value / reason.threshold - 1) for reason in accepted.reasons]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence(NOTHING, repeated=0.03), "repeat the beginning"),
        (evidence(replace(NOTHING, ratio=1.04), prefill_share=0.05), "perfect cache"),
        (evidence(replace(GAIN, tokens=20.0)), "tokens saved per request"),
        (evidence(NOTHING, reported=0.0199), "own server reports already"),
    ],
)
def test_each_refusal_names_its_cause(found: Evidence, words: str) -> None:
    side = decide(found, "none").main
    assert side.decision == NO_GO
    assert any(words in reason.text and not reason.holds for reason in side.reasons)


def test_a_decision_at_the_edge_does_not_survive_its_interval() -> None:
    edge = replace(GAIN, ratio=1.2, low=1.05, high=1.4)
    assert decide(evidence(edge), "none").main.decision == GO
    assert not decide(evidence(edge), "none").main.robust
    assert decide(evidence(), "none").main.robust
    refused = replace(NOTHING, saved=0.2, tokens=90.0, ratio=1.1, high=1.2)
    assert decide(evidence(refused), "none").main.decision == NO_GO
    assert not decide(evidence(refused), "none").main.robust


def test_a_gain_in_doubt_gives_way_to_changes_that_make_it_sure() -> None:
    edge = replace(GAIN, ratio=1.2, low=1.05, high=1.4)
    found = decide(evidence(edge, fixed=GAIN), "none").main
    assert (found.decision, found.robust) == (AFTER_FIXES, True)
    doubt = [reason for reason in found.reasons if reason.text.startswith("as it is now, at worst")]
    assert [reason.value for reason in doubt] == [1.05]
    assert decide(evidence(edge, fixed=edge), "none").main.decision == GO


def test_what_would_turn_it_is_the_closed_form_solved() -> None:
    change = decide(evidence(), "none").main.change
    # 1 / (1 - 0.9 r) = 1.15 at r = 0.145
    assert change == ("saving less than 14% of the prefill time, where 70% are predicted",)
    bound = decide(evidence(replace(NOTHING, ratio=1.04), prefill_share=0.05), "none").main.change
    assert bound == ("prefill taking more than 13% of the GPU time, where it takes 5%",)


def test_too_little_data_decides_nothing() -> None:
    assert decide(evidence(requests=19), "none").main.decision == INSUFFICIENT
    assert decide(evidence(prompt_tokens=4999), "none").main.decision == INSUFFICIENT
    assert decide(evidence(requests=20), "none").main.decision == GO


@pytest.mark.parametrize(
    ("table", "name", "value", "decision"),
    [
        ("none", "throughput_ratio", 3.5, NO_GO),
        ("none", "prefill_time_saved", 0.8, NO_GO),
        ("none", "saved_tokens_per_request", 1000, NO_GO),
        ("data", "requests", 101, INSUFFICIENT),
        ("data", "prompt_tokens", 200_000, INSUFFICIENT),
    ],
)
def test_thresholds_turn_decisions(table: str, name: str, value: float, decision: str) -> None:
    assert decide(evidence(), "none").main.decision == GO
    rules = copy.deepcopy(dict(read_thresholds()))
    rules[table][name]["value"] = value
    assert decide(evidence(), "none", rules).main.decision == decision
    fixed = decide(evidence(NOTHING, fixed=GAIN), "none").main
    assert fixed.decision == AFTER_FIXES
    assert [r.text.split(":")[0] for r in fixed.reasons][:1] == ["with the changes"]


def test_every_threshold_has_its_reason() -> None:
    rows = [row for table in read_thresholds().values() if isinstance(table, dict) for row in table.values()]
    assert len(rows) >= 10 and all(row["reason"] and row["value"] > 0 for row in rows)


def test_thresholds_are_read_from_the_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from radixadvisor.paths import data_dir

    text = (data_dir("rules") / "verdict.toml").read_text().replace("value = 20\n", "value = 3\n")
    (tmp_path / "verdict.toml").write_text(text)
    before = sample("three")
    assert before.main.decision == INSUFFICIENT
    monkeypatch.setattr("radixadvisor.verdict.data_dir", lambda name: tmp_path)
    assert decide(evidence(requests=3), "none").main.decision == GO


def test_the_report_has_it_all() -> None:
    report = json.loads(radixadvisor.analyze(str(SAMPLES / "rag-shuffled.jsonl")).to_json())
    verdict = report["verdict"]
    assert (verdict["decision"], verdict["baseline"]) == (AFTER_FIXES, "none")
    assert verdict["against_vllm"]["decision"] == NO_GO and verdict["against_vllm"]["reasons"]
    assert {"text", "value", "threshold"} <= verdict["reasons"][0].keys()
    assert "verdict" not in report["not_evaluated"]


@pytest.mark.parametrize(
    ("case", "decision"),
    [
        ("44-control-unique-one-shots", NO_GO),
        ("41-control-append-only-agent", GO),
        ("02-rotating-attribution-line", AFTER_FIXES),
        ("31-overlap-clock-hides-memory", AFTER_FIXES),
    ],
)
def test_decisions_of_known_cases(case: str, decision: str, shared: Path) -> None:
    found = radixadvisor.analyze(str(shared / "cases" / f"{case}.jsonl")).analysis.verdict
    assert found is not None and found.main.decision == decision
