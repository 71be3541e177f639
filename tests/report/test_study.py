"""A study shows every run, what each request got, and where runs differ."""

from __future__ import annotations

import csv
import dataclasses
import json
from array import array
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from radixadvisor.errors import UsageError
from radixadvisor.measure.ledger import compose
from radixadvisor.report.layout import Screen
from radixadvisor.report.study import Run, Study, require_exportable, to_dict, to_json, write_export
from radixadvisor.report.study_terminal import differences, quiet_line, render
from radixadvisor.results import LedgerRow
from radixadvisor.simulate.compare import compare
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate


def packed(*tokens: int) -> bytes:
    return array("i", tokens).tobytes()


SHARED = tuple(range(1, 65))
PROMPTS = [packed(*SHARED, *range(100 * i, 100 * i + 40)) for i in range(2, 12)]
REQUESTS = Requests(
    prompts=[*PROMPTS, packed(*range(5000, 5400)), *PROMPTS],
    outputs=[packed(7, 8, 9)] * 21,
    arrivals=[float(i) for i in range(21)],
)


def run(name: str, policy: str, capacity: int = 300) -> Run:
    result = simulate(REQUESTS, engine(name), Options(capacity=capacity, policy=policy))
    ledger = compose(result.prompt_tokens, {"served": result.matched_tokens})
    rows = tuple(LedgerRow(bucket.name, bucket.tokens, bucket.share) for bucket in ledger.buckets)
    return Run(name, engine(name).cache, policy, result, rows, ledger.columns)


def study(*runs: Run) -> Study:
    return Study(
        files=("log.jsonl",),
        dialect="tokens",
        skipped=2,
        ids=["=1+1", *(f"r{i},\x1b\ud800" for i in range(1, 21))],
        arrivals=REQUESTS.arrivals or (),
        prompt_tokens=int(runs[0].result.prompt_tokens.sum()),
        options={"capacity": 300},
        runs=runs,
        comparisons=tuple(compare(runs[0].result, other.result) for other in runs[1:]),
        eviction=(("a tree", 1200), ("blocks", 1216)) if len(runs) > 1 else (),
        not_evaluated={"ledger.capacity": "no unlimited pool was simulated"},
    )


@pytest.fixture(scope="module")
def two() -> Study:
    return study(run("sglang", "fcfs"), run("vllm", "fcfs"))


def test_json_holds_every_run(two: Study) -> None:
    content = to_json(two)
    assert content.isascii()
    assert content == to_json(two)
    read = json.loads(content)
    assert read == to_dict(two)
    assert read["schema"] == "radixadvisor/simulate/1"
    for shown, made in zip(read["runs"], two.runs, strict=True):
        assert shown["engine"] == made.engine
        assert shown["served_tokens"] + shown["computed_tokens"] == two.prompt_tokens - 400
        assert shown["refused"] == {"count": 1, "reasons": {made.result.reasons[10]: 1}}
        assert abs(sum(row["share"] or 0 for row in shown["ledger"]) - 1) < 1e-9
        assert shown["ttft"]["p50"] <= shown["ttft"]["p95"] <= shown["ttft"]["p99"]


def test_all_refused_leaves_no_times(two: Study) -> None:
    result = two.runs[0].result
    nothing = dataclasses.replace(result, ttft=np.full(21, np.nan))
    shown = to_dict(study(dataclasses.replace(two.runs[0], result=nothing)))["runs"][0]["ttft"]
    assert shown == {"mean": None, "p50": None, "p95": None, "p99": None}


def test_runs_stand_side_by_side(two: Study) -> None:
    for width in (60, 80, 140):
        for screen in (Screen(width), Screen(width, unicode=False)):
            text = render(two, screen)
            assert max(cell_len(line) for line in text.splitlines()) <= width
            assert "sglang fcfs" in text
            assert "vllm fcfs" in text
            assert "log.jsonl" in text
            assert "1 requests were refused" in text.replace("\n", " ")
    assert quiet_line(two).count("%") == 2


def test_differences_are_named_in_tokens_and_seconds(two: Study) -> None:
    lines = differences(two)
    reasons = two.comparisons[0].reasons
    assert lines == [
        f"vllm fcfs against sglang fcfs: {reasons[0]}",
        *reasons[1:],
        "one after the other: 1,200 tokens served by a tree",
        "one after the other: 1,216 tokens served by blocks",
    ]
    assert differences(study(two.runs[0])) == []
    shown = to_dict(two)
    assert [row["what"] for row in shown["comparisons"][0]["rows"]][:2] == [
        "served tokens",
        "computed tokens",
    ]
    assert shown["eviction"][0] == {"what": "a tree", "served_tokens": 1200}


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_export_has_a_row_per_request_in_input_order(name: str, two: Study, tmp_path: Path) -> None:
    path = tmp_path / name
    assert write_export(two, path) == path
    if name.endswith("csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows = [{key: value or None for key, value in row.items()} for row in csv.DictReader(file)]
    else:
        rows = [
            {key: None if value is None else str(value) for key, value in row.items()}
            for row in pq.read_table(path).to_pylist()
        ]
    fixed = ["request_id", "arrival", "prompt_len", "matched_tokens", "host_tokens", "computed_tokens"]
    fixed += ["replica", "ttft", "e2e"]
    assert list(rows[0]) == [*fixed, *two.runs[1].columns]
    assert [row["request_id"] for row in rows] == ["=1+1", *(f"r{i},\x1b\\ud800" for i in range(1, 21))]
    assert (rows[10]["replica"], rows[10]["ttft"], rows[10]["prompt_len"]) == ("-1", None, "400")
    assert {row["capacity"] for row in rows} == {None}
    for row in rows[:10]:
        assert int(row["served"] or 0) + int(row["first_seen"] or 0) == int(row["prompt_len"] or 0)


def test_export_takes_one_run_and_known_endings() -> None:
    require_exportable(Path("x.csv"), 1)
    with pytest.raises(UsageError, match="this study has 2"):
        require_exportable(Path("x.csv"), 2)
    with pytest.raises(UsageError, match=r"\*\.csv or \*\.parquet, not x\.txt"):
        require_exportable(Path("x.txt"), 1)
