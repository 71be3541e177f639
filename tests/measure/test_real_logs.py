"""Real logs against an oracle that knows no tree: sorted neighbours."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from pathlib import Path

import numpy as np
import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.measure.hits import matches, prompt_matches, served
from radixadvisor.measure.walks import walk
from radixadvisor.trace import Trace

LOGS = ["bfcl_live_multiple", "gsm8k_8shot", "openhands", "swe_agent", "tau_bench_airline"]


def common_bytes(a: bytes, b: bytes) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def longest_matches(sequences: list[bytes], limits: list[int], page: int) -> list[int]:
    """For each sequence, cut to its limit, the longest whole-page prefix shared with an earlier whole
    sequence.

    Among sorted strings the longest common prefix is with a neighbour.
    """
    unit = 4 * page
    earlier: list[bytes] = []
    found = []
    for sequence, limit in zip(sequences, limits, strict=True):
        key = sequence[: limit * 4]
        at = bisect_left(earlier, key)
        found.append(
            max(
                (common_bytes(key, near) // unit * page for near in earlier[max(at - 1, 0) : at + 1]),
                default=0,
            )
        )
        insort(earlier, sequence[: len(sequence) // unit * unit])
    return found


@pytest.fixture(scope="module", params=LOGS)
def trace(request: pytest.FixtureRequest, shared: Path) -> Trace:
    path = shared / "data" / "logs" / f"{request.param}.jsonl.gz"
    return open_trace([str(path)], AnalyzeOptions())[0]


def test_hits_equal_the_oracle_token_for_token(trace: Trace) -> None:
    prompts = list(trace.prompts())
    outputs = [trace.outputs[index][:-4] for index in trace.order]
    walks = walk(prompts, outputs)
    lengths = [len(prompt) // 4 for prompt in prompts]
    assert prompt_matches(walks).tolist() == longest_matches(prompts, lengths, 1)
    sequences = [prompt + output for prompt, output in zip(prompts, outputs, strict=True)]
    found = matches(walks)
    for page in (1, 16, 64):
        capped = [max(length - 1, 0) for length in lengths]
        assert served(found, np.array(lengths), page).tolist() == longest_matches(sequences, capped, page)


def test_the_published_hash_trace_has_its_known_ratios(shared: Path) -> None:
    truth = next(
        row
        for row in map(json.loads, (shared / "data" / "truth.jsonl").read_text().splitlines())
        if row["name"] == "mooncake_conversation"
    )
    path = shared / "data" / "mooncake_conversation" / "conversation_trace.jsonl"
    trace = open_trace([str(path)], AnalyzeOptions())[0]
    walks = walk(trace.prompts(), [b""] * len(trace.requests))
    lengths = np.array([trace.lengths[index] for index in trace.order])
    blocks = prompt_matches(walks)
    tokens = np.minimum(blocks * trace.unit, lengths)
    full = served(tokens, lengths, trace.unit)
    assert len(trace.requests) == truth["requests"]
    assert int(walks.lengths.sum()) == truth["blocks"]
    assert int(lengths.sum()) == truth["input_tokens"]
    assert blocks.sum() / walks.lengths.sum() == pytest.approx(truth["block_hit"], abs=5e-7)
    assert tokens.sum() / lengths.sum() == pytest.approx(truth["token_hit"], abs=5e-7)
    assert full.sum() / lengths.sum() == pytest.approx(truth["full_block_hit"], abs=5e-6)
