"""Gains are measured, add up, and are told without favour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.diagnose.registry import detect
from radixadvisor.diagnose.view import LogView
from radixadvisor.measure.hits import matches, served
from radixadvisor.measure.walks import walk
from radixadvisor.prescribe.counterfactual import Trial, try_all
from radixadvisor.prescribe.variant import Variant, Workshop
from radixadvisor.trace import Trace
from tests.diagnose.seen import FAULTS, faulty_log, faulty_trial, faulty_view

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def tried(path: Path) -> tuple[Trace, Trial]:
    trace, _ = open_trace([str(path)], AnalyzeOptions())
    view = LogView(trace)
    return trace, try_all(view, detect(view))


def computed_by_the_tree(trace: Trace, variant: Variant) -> list[int]:
    """Computed tokens per request of a whole new measurement over tokens."""
    prompts = [
        trace.pools[trace.pool_of[index]].prompt(variant.segments.get(index, trace.segments[index]))
        for index in trace.order
    ]
    outputs = [trace.outputs[index][:-4] for index in trace.order]
    walks = walk(prompts, outputs, [trace.namespace(index) for index in trace.order])
    lengths = np.array([len(prompt) // 4 for prompt in prompts])
    return (lengths - served(matches(walks), lengths, 1)).tolist()


@pytest.mark.parametrize("name", ["mixed-apps", "rag-shuffled", "rag-tools-last", "unique-head"])
def test_samples_conserve_tokens(name: str) -> None:
    trace, trial = tried(SAMPLES / f"{name}.jsonl")
    assert trial.applied
    gains = sum(fix.marginal for fix in trial.applied)
    assert trial.before.computed.sum() - gains == trial.after.computed.sum()
    assert trial.before.computed.tolist() == computed_by_the_tree(trace, trial.before)
    assert trial.after.computed.tolist() == computed_by_the_tree(trace, trial.after)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_generated_faults_conserve_tokens(name: str) -> None:
    trace, trial = faulty_trial(name)
    gains = sum(fix.marginal for fix in trial.applied)
    assert trial.before.computed.sum() - gains == trial.after.computed.sum()
    assert trial.after.computed.tolist() == computed_by_the_tree(trace, trial.after)
    for fix in trial.applied:
        assert fix.marginal == fix.hits - fix.length
        assert fix.interval[0] <= fix.interval[1]
    assert all(fix.marginal <= max(fix.alone, fix.marginal) for fix in trial.rejected)


def test_a_fix_alone_is_measured_on_the_log_as_read() -> None:
    trace, trial = faulty_trial("profile_and_memory")
    shop = Workshop(faulty_view("profile_and_memory")[0])
    for fix in (*trial.applied, *trial.rejected):
        variant = shop.with_edit(shop.base, fix.spec)
        assert fix.alone == shop.base.computed.sum() - variant.computed.sum()
        assert variant.computed.tolist() == computed_by_the_tree(trace, variant)


def test_the_same_log_gives_the_same_trial(tmp_path: Path) -> None:
    path = faulty_log(tmp_path / "log.jsonl", "clock_and_shuffled_tools")
    first, second = tried(path)[1], tried(path)[1]
    assert [(fix.spec, fix.marginal, fix.interval) for fix in first.applied] == [
        (fix.spec, fix.marginal, fix.interval) for fix in second.applied
    ]
