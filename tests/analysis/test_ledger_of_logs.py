"""The ledger of whole logs: complete, never negative, and right about the causes that a log proves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze, open_trace
from radixadvisor.analysis.hosted import hosted_profile, hosted_steps
from radixadvisor.analysis.measure import measure
from radixadvisor.paths import data_dir
from radixadvisor.results import Analysis
from radixadvisor.simulate.hosted_profiles import provider
from radixadvisor.simulate.steps import hosted_ledger_steps
from radixadvisor.trace import Trace

SAMPLES = sorted(path.name for path in data_dir("samples").glob("*.jsonl"))


def check(analysis: Analysis) -> dict[str, float]:
    shares = {row.bucket: row.share for row in analysis.ledger if row.share is not None}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-9)
    assert min(shares.values()) >= 0
    assert {f"ledger.{row.bucket}" for row in analysis.ledger if row.share is None} <= set(
        analysis.not_evaluated
    )
    return shares


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_add_up(name: str) -> None:
    check(analyze([str(data_dir("samples") / name)]))


def test_real_logs_add_up(shared: Path) -> None:
    for path in sorted((shared / "data" / "logs").glob("*.gz")):
        check(analyze([str(path)]))


def test_expiry_and_replicas_are_told_apart(shared: Path) -> None:
    expired = check(analyze([str(shared / "cases" / "22-idle-longer-than-ttl.jsonl")]))
    assert max(set(expired) - {"served"}, key=expired.__getitem__) == "ttl"
    spread = check(analyze([str(shared / "cases" / "24-round-robin-replicas.jsonl")]))
    assert spread["served"] == pytest.approx(0.802, abs=5e-4)
    assert spread["served"] + spread["replicas"] == pytest.approx(0.96, abs=5e-4)


@pytest.fixture(scope="module")
def timed() -> Trace:
    return open_trace([str(data_dir("samples") / "mixed-apps.jsonl")], AnalyzeOptions())[0]


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_the_short_cut_for_hosted_prefixes_equals_simulating_every_step(timed: Trace, name: str) -> None:
    from radixadvisor.analysis.columns import requests_of

    found = measure(timed)
    numbers: dict[str, int] = {}
    spaces = [numbers.setdefault(timed.namespace(index), len(numbers)) for index in timed.order]
    profile = provider(name)
    steps, _ = hosted_steps(timed, found.walks, found.lengths, spaces, profile)
    for step, column in hosted_ledger_steps(requests_of(timed, profile), profile).items():
        if column is not None:
            mine = steps[step]
            assert mine is not None
            assert np.array_equal(mine, column[timed.order]), step


def test_a_self_hosted_log_has_no_hosted_headline(timed: Trace) -> None:
    assert hosted_profile(timed) is None
