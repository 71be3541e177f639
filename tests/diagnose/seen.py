"""Logs opened and tried once for all tests."""

from __future__ import annotations

import gc
import json
import tempfile
from functools import cache
from pathlib import Path

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.registry import detect
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.counterfactual import Trial, try_all
from radixadvisor.trace import Trace
from tests.diagnose import faults, faults_of_order
from tests.diagnose.healthy import Writer, said
from tests.diagnose.shapes import FAULTS

__all__ = ["FAULTS", "faults", "faults_of_order", "faulty_log", "faulty_trial", "faulty_view", "view_of"]


def faulty_log(path: Path, name: str) -> Path:
    """Write a log with a fault among healthy requests; the path given."""
    writer = Writer(sorted(FAULTS).index(name) + 1)
    FAULTS[name][1](writer)
    rules = writer.manual(8)
    for _ in range(5):
        writer.ask([said("system", f"You count words.\n{rules}"), said("user", writer.question())])
    path.write_text(
        "".join(
            json.dumps({key: value for key, value in row.items() if key != "conversation"}) + "\n"
            for row in writer.rows
        )
    )
    return path


@cache
def view_of(path: Path, tokenizer: str | None = None) -> tuple[LogView, tuple[Candidate, ...]]:
    """A log seen for diagnosis, and what is suspected in it."""
    trace, _ = open_trace([str(path)], AnalyzeOptions(tokenizer=tokenizer))
    view = LogView(trace)
    candidates = tuple(detect(view))
    # What is kept for all tests need not be walked by each collection of garbage.
    gc.freeze()
    return view, candidates


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
