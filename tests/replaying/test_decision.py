"""The decision of an analysis, confirmed or refuted by runs."""

from __future__ import annotations

import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze
from radixadvisor.replaying.decision import Foreseen, decision_of, foreseen
from tests.replaying.test_claims import OFF, run
from tests.update_readme import REPOSITORY

ON = run("given", "lpm", seconds=5, flops=50, hits=500)
SAME = run("given", "lpm", seconds=10, flops=98, hits=20)
FIXED = run("rewritten", "lpm", seconds=1, flops=10, hits=900)


def expected(decision: str, saved: float, fixed: float | None = None, *, by_prefill: bool = True) -> Foreseen:
    return Foreseen(decision, saved, fixed, 0.15, by_prefill)


@pytest.mark.parametrize(
    ("decision", "runs", "outcome"),
    [
        (expected("go", 0.5), [OFF, ON], "confirmed"),
        (expected("go", 0.5), [OFF, SAME], "refuted"),
        (expected("go_after_fixes", 0.02, 0.9), [OFF, SAME, FIXED], "confirmed"),
        (expected("go_after_fixes", 0.02, 0.9), [OFF, SAME], "undecided"),
        (expected("no_go", 0.02), [OFF, SAME], "confirmed"),
        (expected("no_go", 0.02), [OFF, ON], "refuted"),
        (expected("no_go", 0.5, by_prefill=False), [OFF, ON], "undecided"),
    ],
)
def test_a_decision_is_held_to_the_prefill_that_was_measured(
    decision: Foreseen, runs: list[object], outcome: str
) -> None:
    claim = decision_of(decision, runs)  # type: ignore[arg-type]
    assert claim is not None
    assert (claim.name, claim.outcome) == ("decision", outcome)
    assert claim.threshold == pytest.approx(1 / 0.85)
    assert bool(claim.reason) == (outcome == "undecided")


def test_a_refused_decision_says_nothing_without_runs_or_data() -> None:
    assert decision_of(expected("go", 0.5), [ON]) is None
    assert decision_of(expected("insufficient_data", 0.5), [OFF, ON]) is None


@pytest.mark.parametrize(
    ("sample", "decision"),
    [
        ("rag-consistent", "go"),
        ("rag-shuffled", "go_after_fixes"),
        ("one-shots", "no_go"),
    ],
)
def test_what_is_foreseen_is_the_verdict_of_the_log(sample: str, decision: str) -> None:
    analysis = analyze([str(REPOSITORY / "samples" / f"{sample}.jsonl")], AnalyzeOptions())
    found = foreseen(analysis)
    assert found is not None and analysis.verdict is not None
    assert found.decision == decision == analysis.verdict.main.decision
    assert (found.fixed is not None) == bool(analysis.prescriptions)
    assert (
        foreseen(analyze([str(REPOSITORY / "samples" / f"{sample}.jsonl")], AnalyzeOptions(baseline="vllm")))
        is None
    )
