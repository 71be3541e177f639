"""Real exports are read whole: the numbers of calls that their authors and truth files state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.ingest import no_usable_input
from tests.ingest.reading import read_paths


def test_langfuse_exports_of_twenty_frameworks(shared: Path) -> None:
    files = sorted((shared / "data" / "langfuse_traces").glob("*.json"))
    reads = [read_paths(file) for file in files]
    assert {read.log.dialect for read in reads} == {"langfuse_trace_export"} and len(reads) == 20
    assert sum(len(read.requests) for read in reads) == 40
    skips = [skip for read in reads for skip in read.skips]
    assert [skip.reason for skip in skips] == ["no prompt text"] * 2
    assert all(request.model and request.usage for read in reads for request in read.requests)
    together = read_paths(files)
    # Two files hold the same trace.
    assert together.log.skips.reasons == {"no prompt text": 2, "duplicate delivery": 1}


def test_openhands_calls_match_their_metrics(shared: Path) -> None:
    path = shared / "data" / "openhands" / "multi_swe_bench_examples_output.jsonl"
    read = read_paths(path)
    tasks = [json.loads(line)["metrics"] for line in path.read_text().splitlines()]
    told = {usage["response_id"]: usage["prompt_tokens"] for task in tasks for usage in task["token_usages"]}
    assert {r.id: r.usage and r.usage.prompt for r in read.requests} == told
    assert (len(read.requests), sum(told.values()), read.skips) == (105, 1913342, [])
    assert all(request.latency and request.tools for request in read.requests)


def test_swe_agent_trajectories(shared: Path) -> None:
    read = read_paths(sorted((shared / "data" / "swe_agent").glob("*.traj")))
    assert (len(read.requests), read.skips, read.log.dialect) == (230, [], "swe_agent_traj")
    assert len({request.session for request in read.requests}) == 22


def test_claude_code_calls_count_once(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "claude_code"
    files = sorted(
        path for path in folder.iterdir() if "claude~" in path.name or path.name.startswith("daaain")
    )
    ids: set[str] = set()
    for file in files:
        for line in file.read_text().splitlines():
            fields = json.loads(line)
            message = fields.get("message") if isinstance(fields, dict) else None
            if isinstance(message, dict) and message.get("role") == "assistant":
                ids.add(message["id"])
    read = read_paths(files)
    # A resumed session repeats the calls of the one before in a file of its own.
    copies = []
    for file in files:
        copy = tmp_path / file.name
        copy.write_bytes(file.read_bytes().replace(b'"sessionId"', b'"sessionId": "copy", "was"'))
        copies.append(copy)
    twice = read_paths([*files, *copies])
    assert len(read.requests) + read.log.skips.reasons["no prompt text"] == len(ids)
    assert len(twice.requests) == len(read.requests) == len({request.id for request in read.requests})
    assert any("system prompt" in note for note in read.log.notes)


def test_codex_counts_without_items_are_totals(shared: Path) -> None:
    folder = shared / "data" / "claude_code"
    read = read_paths(folder / "ccusage_codex~sessions~project-alpha~session-alpha.jsonl")
    assert read.requests == [] and "750 cached prompt tokens in calls without prompt text." in read.log.notes
    assert "3500 prompt tokens" in str(no_usable_input(read.log))


@pytest.fixture(scope="module")
def airline(shared: Path) -> Path:
    return shared / "data" / "tau_bench_airline" / "gpt-4o-airline.json"


def test_tau_bench_prompts_are_those_of_the_prepared_log(airline: Path, shared: Path) -> None:
    read = read_paths(airline)
    prepared = read_paths(shared / "data" / "logs" / "tau_bench_airline.jsonl.gz")
    assert (len(read.requests), read.skips) == (2454, [])
    for mine, other in zip(read.requests, prepared.requests, strict=True):
        assert [m.text for m in mine.messages or ()] == [m.text for m in other.messages or ()]
        assert mine.session == other.session


def test_tau_bench_hits_equal_brute_force(airline: Path) -> None:
    from radixadvisor.ingest import read_log
    from radixadvisor.measure.hits import prompt_matches
    from radixadvisor.measure.walks import walk
    from radixadvisor.trace import TokenOptions, build_trace

    trace = build_trace(read_log(airline), TokenOptions())
    walks = walk(trace.prompts(), [b""] * len(trace.requests))
    seen: set[int] = set()
    expected = []
    for prompt in trace.prompts():
        state, matched, count = 0, True, 0
        for token in memoryview(prompt).cast("i"):
            state = hash((state, token))
            matched = matched and state in seen
            count += matched
            seen.add(state)
        expected.append(count)
    assert prompt_matches(walks).tolist() == expected
    assert (len(expected), sum(expected) > 0) == (2454, True)
