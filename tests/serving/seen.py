"""Analyses of generated logs, made once for all tests."""

from __future__ import annotations

import gc
import tempfile
from functools import cache
from pathlib import Path

from radixadvisor.analysis import AnalyzeOptions, analyze, open_trace
from radixadvisor.analysis.measure import measure
from radixadvisor.results import Analysis, Finding
from tests.serving.faults import FAULTS, HEALTHY, ONLY_TOLD
from tests.serving.logs import Row, save

__all__ = ["analysis_of", "analyzed", "expected_hits", "one"]


def analyzed(rows: list[Row], **options: object) -> Analysis:
    """Rows written and analysed."""
    with tempfile.TemporaryDirectory() as folder:
        return analyze([str(save(Path(folder) / "log.jsonl", rows))], AnalyzeOptions(**options))


@cache
def analysis_of(name: str, seed: int, *, told: bool = True) -> Analysis:
    """A generated log analysed; ``told``: with what the user tells of the server, where that is needed."""
    options: dict[str, int] = {}
    if name in ONLY_TOLD:
        make = ONLY_TOLD[name][1]
        options = ONLY_TOLD[name][2] if told else {}
    else:
        make = FAULTS[name][1] if name in FAULTS else HEALTHY[name]
    found = analyzed(make(seed), **options)
    gc.freeze()
    return found


def one(analysis: Analysis, rule: str) -> Finding:
    """The only finding of a rule."""
    (found,) = [item for item in analysis.findings if item.rule == rule]
    return found


def expected_hits(rows: list[Row]) -> dict[str, tuple[int, int]]:
    """By request id the tokens that the headline's cache serves, and those of the prompt."""
    with tempfile.TemporaryDirectory() as folder:
        trace, _ = open_trace([str(save(Path(folder) / "log.jsonl", rows))], AnalyzeOptions())
    found = measure(trace)
    served = found.ledger.columns["served"]
    assert served is not None
    return {
        trace.requests[index].id: (int(served[position]), int(found.lengths[position]))
        for position, index in enumerate(trace.order)
    }
