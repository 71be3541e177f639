"""Runs that a trace knows to be repeated stand in an earlier prompt."""

from __future__ import annotations

import pytest

from radixadvisor.analysis.repeats import repeated_runs
from radixadvisor.ingest import read_log
from radixadvisor.paths import data_dir
from radixadvisor.trace import TokenOptions, build_trace


def _holds(prompt: bytes, run: bytes) -> bool:
    at = prompt.find(run)
    while at > 0 and at % 4:
        at = prompt.find(run, at + 1)
    return at >= 0


@pytest.mark.parametrize("name", ["agent-tools", "rag-shuffled", "unique-head"])
def test_every_run_stands_in_an_earlier_prompt(name: str) -> None:
    trace = build_trace(read_log([str(data_dir("samples") / f"{name}.jsonl")]), TokenOptions())
    prompts = list(trace.prompts())
    runs = repeated_runs(trace)
    rows = list(zip(*(column.tolist() for column in runs), strict=True))
    assert rows == sorted(rows, key=lambda row: row[:2])
    assert rows
    for request, start, stop in rows:
        tokens = prompts[request][start * 4 : stop * 4]
        assert len(tokens) == (stop - start) * 4
        assert any(_holds(earlier, tokens) for earlier in prompts[:request])
