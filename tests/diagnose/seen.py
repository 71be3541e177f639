"""Logs opened and tried once for all tests."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.registry import detect
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.counterfactual import Trial, try_all
from radixadvisor.trace import Trace
from tests.diagnose.faults import faulty_log


@cache
def view_of(path: Path, tokenizer: str | None = None) -> tuple[LogView, tuple[Candidate, ...]]:
    """A log seen for diagnosis, and what is suspected in it."""
    trace, _ = open_trace([str(path)], AnalyzeOptions(tokenizer=tokenizer))
    view = LogView(trace)
    return view, tuple(detect(view))


@cache
def faulty_view(name: str) -> tuple[LogView, tuple[Candidate, ...]]:
    """The same for a generated fault."""
    with tempfile.TemporaryDirectory() as folder:
        return view_of(faulty_log(Path(folder) / f"{name}.jsonl", name))


@cache
def faulty_trial(name: str) -> tuple[Trace, Trial]:
    """A generated fault's log, and what its fixes gain."""
    view, candidates = faulty_view(name)
    return view.trace, try_all(view, candidates)
