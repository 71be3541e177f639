"""The reference cases of serving, with their numbers; nothing on the controls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze
from tests.serving.seen import one

CASES = ("22-idle-longer-than-ttl", "24-round-robin-replicas", "26-prompt-logprobs-bypass")
CONTROLS = ("41-control-append-only-agent", "43-control-decoy-timestamps", "44-control-unique-one-shots")


@pytest.mark.parametrize("tokenizer", [None, "qwen2.5"])
@pytest.mark.parametrize("stem", CASES)
def test_a_case_yields_its_rule_with_its_numbers(stem: str, tokenizer: str | None, shared: Path) -> None:
    expected = json.loads((shared / "cases" / f"{stem}.expect.json").read_text())
    log = shared / "cases" / f"{stem}.jsonl"
    analysis = analyze([str(log)], AnalyzeOptions(tokenizer=tokenizer))
    assert [found.rule for found in analysis.findings] == expected["rules"]
    found = one(analysis, expected["rules"][0])
    assert found.kind == "fix"
    assert found.rates == pytest.approx((expected["exact"]["before"], expected["exact"]["after"]), abs=5.1e-4)
    (change,) = analysis.prescriptions
    assert change.edit == "serving"
    assert change.rate_after == pytest.approx(expected["exact"]["after"], abs=5e-3)


@pytest.mark.parametrize("stem", CONTROLS)
def test_controls_have_no_finding(stem: str, shared: Path) -> None:
    analysis = analyze([str(shared / "cases" / f"{stem}.jsonl")], AnalyzeOptions())
    assert analysis.findings == ()
    assert analysis.prescriptions == ()


def test_faults_of_the_text_are_none_of_serving(shared: Path) -> None:
    for path in sorted((shared / "cases").glob("*.jsonl")):
        if not path.name.startswith(("22", "24", "26")):
            analysis = analyze([str(path)], AnalyzeOptions())
            assert not [found for found in analysis.findings if found.rule.startswith("RA5")], path.name
