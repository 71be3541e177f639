"""Logs without a fault yield no finding, whatever in them looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.advice import advise
from tests.diagnose.healthy import healthy_log

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HEALTHY = ("agent-tools", "long-system-chat", "one-shots", "rag-consistent", "three", "voice-preamble")


def told(path: Path) -> list[tuple[str, str, int]]:
    trace, _ = open_trace([str(path)], AnalyzeOptions())
    return [(found.rule, found.where.path, found.lost_tokens) for found in advise(trace).findings]


@pytest.mark.parametrize("tens", range(20))
def test_generated_healthy_logs_have_no_finding(tens: int, tmp_path: Path) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        assert told(healthy_log(tmp_path / f"{seed}.jsonl", seed)) == [], f"seed {seed}"


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_samples_have_no_finding(name: str) -> None:
    assert told(SAMPLES / f"{name}.jsonl") == []


@pytest.mark.parametrize(
    "name", ["41-control-append-only-agent", "43-control-decoy-timestamps", "44-control-unique-one-shots"]
)
def test_controls_have_no_finding(name: str, shared: Path) -> None:
    assert told(shared / "cases" / f"{name}.jsonl") == []
