"""The sample logs: made by their generator byte for byte, and what each of them is known to show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from bisect import bisect
from functools import cache
from pathlib import Path

import pytest

from radixadvisor.records import Message, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render.registry import render_text
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.engine import choose

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOGS = sorted(SAMPLES.glob("*.jsonl"))


def make(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SAMPLES / "make.py"), *arguments],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_committed_logs_are_what_the_generator_makes(tmp_path: Path) -> None:
    assert make("--out", str(tmp_path), hash_seed="1").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in LOGS]
    for path in LOGS:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_check_passes_on_the_committed_logs() -> None:
    result = make("--check", hash_seed="4242")
    assert (result.returncode, result.stderr) == (0, "")


def test_check_names_the_logs_that_differ(tmp_path: Path) -> None:
    for path in LOGS:
        shutil.copy(path, tmp_path)
    with (tmp_path / "three.jsonl").open("a") as altered:
        altered.write("\n")
    (tmp_path / "voice-preamble.jsonl").unlink()
    result = make("--check", "--out", str(tmp_path))
    assert result.returncode == 1
    assert result.stderr.endswith(": voice-preamble.jsonl, three.jsonl\n")


def request_of(line: dict) -> Request:
    """The request of one log line, read without the package's own readers."""
    messages = []
    for message in line["messages"]:
        calls = [
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", [])
        ]
        answered = message.get("tool_call_id")
        messages.append(Message(message["role"], message["content"], tuple(calls), answered))
    tools = tuple(Tool(tool["function"]["name"], json.dumps(tool)) for tool in line.get("tools", []))
    return Request(
        id=line["request_id"],
        source=Source("sample", 1),
        model=line["model"],
        messages=tuple(messages),
        tools=ToolSet(tools) if tools else None,
    )


@cache
def log(name: str) -> list[dict]:
    return [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]


@cache
def prompts(name: str) -> list[list[int]]:
    """The token ids of every prompt of a log, each encoded whole under its model's template."""
    choices = {model: choose(model) for model in {line["model"] for line in log(name)}}
    ids = []
    for line in log(name):
        choice = choices[line["model"]]
        text = render_text(choice.renderer, request_of(line))
        ids.append(unpack(encode_prompt_text(choice.tokenizer, text)))
    return ids


def common_prefix(left: list[int], right: list[int]) -> int:
    """The length of the longest common prefix, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low


@cache
def rate(name: str) -> float:
    """Unlimited hit rate: the longest common prefix with any earlier prompt; its neighbours in sorted order
    suffice.
    """
    hits = 0
    seen: list[list[int]] = []
    for ids in prompts(name):
        place = bisect(seen, ids)
        hits += max((common_prefix(ids, other) for other in seen[max(0, place - 1) : place + 1]), default=0)
        seen.insert(place, ids)
    return hits / sum(map(len, prompts(name)))


def repeated_share(name: str, run: int = 32) -> float:
    """The share of tokens in a run of ``run`` tokens that an earlier prompt holds, wherever."""
    seen: set[tuple[int, ...]] = set()
    repeated = 0
    for ids in prompts(name):
        windows = [tuple(ids[start : start + run]) for start in range(len(ids) - run + 1)]
        covered_until = 0
        for start, window in enumerate(windows):
            if window in seen:
                repeated += start + run - max(start, covered_until)
                covered_until = start + run
        seen.update(windows)
    return repeated / sum(map(len, prompts(name)))


def known_answers() -> dict[str, tuple[int, float]]:
    """Requests and rate of each log as the table in README.md states them."""
    rows = re.findall(
        r"^\| `(\S+)` \|.*\| (\d+) \| ([\d.]+) % \|$", (SAMPLES / "README.md").read_text(), re.M
    )
    return {name: (int(requests), float(percent)) for name, requests, percent in rows}


def test_the_table_lists_every_log() -> None:
    assert sorted(known_answers()) == [path.name for path in LOGS]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_known_answer(path: Path) -> None:
    requests, percent = known_answers()[path.name]
    assert len(log(path.name)) == requests
    assert 100 * rate(path.name) == pytest.approx(percent, abs=0.0501)


def test_order_of_the_sections_decides_the_hit_rate() -> None:
    consistent = rate("rag-consistent.jsonl")
    assert consistent > 0.85
    assert rate("rag-shuffled.jsonl") < consistent / 3
    assert rate("rag-tools-last.jsonl") < consistent - 0.1


def test_rag_logs_hold_the_same_requests() -> None:
    """Same ids, arrivals and sections; only the places of the sections differ."""

    def content(line: dict) -> tuple[str, int, list[str]]:
        text = "\n\n".join(message["content"] for message in line["messages"])
        return line["request_id"], line["timestamp"], sorted(text.split("\n\n"))

    reference = [content(line) for line in log("rag-consistent.jsonl")]
    assert [content(line) for line in log("rag-shuffled.jsonl")] == reference
    assert [content(line) for line in log("rag-tools-last.jsonl")] == reference


def test_unique_head_hides_what_is_repeated() -> None:
    assert rate("unique-head.jsonl") < 0.01
    assert repeated_share("unique-head.jsonl") > 0.9


def test_one_shots_repeat_nothing() -> None:
    assert rate("one-shots.jsonl") < 0.04
    assert repeated_share("one-shots.jsonl") < 0.02


def test_voice_log_is_near_the_published_rate() -> None:
    assert rate("voice-preamble.jsonl") == pytest.approx(0.864, abs=0.01)


def test_agent_histories_only_grow() -> None:
    last: dict[str, dict] = {}
    for line in log("agent-tools.jsonl"):
        session = line["metadata"]["session_id"]
        if session in last:
            earlier = last[session]
            begun = [*earlier["messages"], earlier["response"]]
            assert line["messages"][: len(begun)] == begun
        last[session] = line
    assert 20 <= len(last) <= 30


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_requests_are_ordered_and_named_once(path: Path) -> None:
    lines = log(path.name)
    times = [line["timestamp"] for line in lines]
    assert times == sorted(times)
    assert len({line["request_id"] for line in lines}) == len(lines)
    assert all(0 < line["ttft_ms"] < line["latency_ms"] for line in lines)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_usage_is_what_the_template_and_the_vocabulary_give(path: Path) -> None:
    counted = [line for line in log(path.name) if "usage" in line]
    assert len(counted) == (0 if path.stem == "mixed-apps" else len(log(path.name)))
    for line, ids in zip(counted, prompts(path.name) if counted else [], strict=True):
        usage = line["usage"]
        assert usage["prompt_tokens"] == len(ids)
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_completion_tokens_include_the_stop_token() -> None:
    tokenizer = choose("qwen2.5-7b-instruct").tokenizer
    for line in log("voice-preamble.jsonl"):
        reply = unpack(encode_prompt_text(tokenizer, line["response"]))
        assert line["usage"]["completion_tokens"] == len(reply) + 1


def test_logs_stay_small() -> None:
    sizes = [path.stat().st_size for path in LOGS]
    assert max(sizes) < 1_048_576
    assert sum(sizes) < 6 * 1_048_576
