"""Explanations held to the tokens themselves, for every request of every sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.advice import advise
from radixadvisor.analysis.explain import Explanation, common_prefix, explain, find_request, worst
from radixadvisor.analysis.explain_fixes import after_fixes
from radixadvisor.analysis.measure import measure
from radixadvisor.errors import UsageError
from radixadvisor.paths import data_dir
from radixadvisor.tokens.base import pack, unpack
from radixadvisor.trace import Trace

SAMPLES = sorted(data_dir("samples").glob("*.jsonl"))
TOWNS = ("Ashby", "Borrow", "Calder", "Dunmore", "Elland", "Farley", "Gorton", "Hexham", "Ilkley", "Jarrow")
SORTING = [f"Parcels for {town} go to the shelf that is marked with a {town[0]}." for town in TOWNS]
SYSTEM = "You sort parcels by weight, then by the town they go to, and answer with one word. " * 3


def opened(path: Path) -> Trace:
    return open_trace([str(path)], AnalyzeOptions())[0]


def naive_match(trace: Trace, position: int) -> int:
    """Tokens shared with anything cached earlier in the same namespace, token by token."""
    index = trace.order[position]
    prompt = unpack(trace.prompt(index))
    best = 0
    for other in trace.order[:position]:
        if trace.namespace(other) == trace.namespace(index):
            length = 0
            for mine, theirs in zip(
                prompt, unpack(trace.prompt(other) + trace.outputs[other][:-4]), strict=False
            ):
                if mine != theirs:
                    break
                length += 1
            best = max(best, length)
    return best


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_request_of_every_sample_is_explained(path: Path) -> None:
    trace = opened(path)
    found = measure(trace)
    for position, index in enumerate(trace.order):
        told = explain(trace, found, index)
        before = {trace.namespace(other) for other in trace.order[:position]}
        assert (told.match is None) == (trace.namespace(index) not in before)
        assert told.prompt_tokens == sum(tokens for _, tokens in told.buckets)
        assert told.reason.endswith(".")
        if told.match is None:
            continue
        assert told.served["sglang"] == min(told.match.tokens, told.prompt_tokens - 1)
        other = find_request(trace, told.match.request_id)
        mine = unpack(trace.prompt(index))
        theirs = unpack(trace.prompt(other) + trace.outputs[other][:-4])
        shared = told.match.tokens
        assert mine[:shared] == theirs[:shared]
        assert mine[shared : shared + 1] != theirs[shared : shared + 1] or shared == len(mine)
        if told.here is None or told.there is None:
            assert shared == len(mine)
            continue
        assert told.here.request_id == told.request_id
        if told.here.path == "messages[0].content":
            content = trace.requests[index].messages
            assert content is not None
            assert content[0].text[told.here.start :].startswith(told.here.text[:8].rstrip("\ufffd"))


@pytest.mark.parametrize("name", ["three", "rag-shuffled", "agent-tools"])
def test_the_longest_match_is_the_longest(name: str) -> None:
    trace = opened(data_dir("samples") / f"{name}.jsonl")
    found = measure(trace)
    for position in range(0, len(trace.order), max(len(trace.order) // 12, 1)):
        told = explain(trace, found, trace.order[position])
        assert (told.match.tokens if told.match else 0) == naive_match(trace, position)


@pytest.mark.parametrize(
    ("first", "second", "tokens"),
    [([], [1], 0), ([1, 2], [1, 2, 3], 2), ([1, 2, 3], [1, 9, 3], 1), ([7], [8], 0)],
)
def test_common_prefix_counts_whole_tokens(first: list[int], second: list[int], tokens: int) -> None:
    assert common_prefix(pack(first), pack(second)) == common_prefix(pack(second), pack(first)) == tokens * 4


def log(tmp_path: Path, *rows: dict[str, object]) -> Trace:
    path = tmp_path / "log.jsonl"
    lines = [{"model": "qwen2.5-7b-instruct", "timestamp": 1000 + 60 * n} | row for n, row in enumerate(rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return opened(path)


def asked(number: int, text: str, system: str = SYSTEM, **more: object) -> dict[str, object]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    return {"request_id": f"r{number}", "messages": messages, **more}


def told(trace: Trace, name: str) -> Explanation:
    return explain(trace, measure(trace), find_request(trace, name))


def test_the_place_of_the_difference_is_exact(tmp_path: Path) -> None:
    trace = log(tmp_path, asked(0, "the red parcel"), asked(1, "the blue parcel"))
    here, there = told(trace, "r1").here, told(trace, "r1").there
    assert here is not None
    assert there is not None
    assert (here.path, here.start, here.text[:5]) == ("messages[1].content", 3, " blue")
    assert (there.path, there.start, there.text[:4]) == ("messages[1].content", 3, " red")
    assert told(trace, "r1").shared.endswith("user\nthe")


def test_the_latest_of_equal_matches_is_named(tmp_path: Path) -> None:
    trace = log(tmp_path, asked(0, "a red one"), asked(1, "a blue one"), asked(2, "a green one"))
    match = told(trace, "r2").match
    assert match is not None
    assert (match.request_id, match.seconds_ago, match.in_reply) == ("r1", 60.0, False)


def test_a_repeat_and_a_first_request_say_so(tmp_path: Path) -> None:
    trace = log(tmp_path, asked(0, "one"), asked(1, "one"))
    assert told(trace, "r0").reason == "It is the first request of the log: nothing was cached before it."
    again = told(trace, "r1")
    assert again.reason == "Its whole prompt was sent before, by r0."
    assert (again.here, again.there) == (None, None)


def test_a_salt_keeps_a_longer_match_apart(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        asked(0, "one", cache_salt="a"),
        asked(1, "other", system="Something else altogether.", cache_salt="b"),
        asked(2, "one", cache_salt="b"),
    )
    found = told(trace, "r2")
    assert found.match is not None
    assert found.apart is not None
    assert (found.match.request_id, found.apart.request_id) == ("r1", "r0")
    assert found.apart.tokens == found.prompt_tokens > found.match.tokens


def test_a_hash_trace_is_explained_without_text(tmp_path: Path) -> None:
    rows = [
        {"timestamp": n, "input_length": 1200, "output_length": 9, "hash_ids": [1, 2, 3 + n]} for n in (0, 1)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    trace = opened(path)
    found = explain(trace, measure(trace), 1)
    assert found.match is not None
    assert (found.match.tokens, found.here, found.there) == (1024, None, None)


def test_the_worst_are_those_that_lose_most() -> None:
    trace = opened(data_dir("samples") / "rag-shuffled.jsonl")
    found = measure(trace)
    every = worst(trace, found, len(trace.requests))
    assert [loss.lost for loss in every] == sorted((loss.lost for loss in every), reverse=True)
    assert worst(trace, found, 5) == every[:5]
    new = found.ledger.columns["first_seen"]
    assert new is not None
    total = int(found.lengths.sum() - found.profiles["sglang"].sum() - new.sum())
    assert sum(loss.lost for loss in every) == total > 0


def test_an_unknown_id_names_near_ones(tmp_path: Path) -> None:
    trace = log(tmp_path, asked(10, "one"), asked(11, "two"))
    with pytest.raises(UsageError, match=r"No request 'r12' in the log\. Near: r11, r10"):
        find_request(trace, "r12")
    with pytest.raises(UsageError, match="The first is r10"):
        find_request(trace, "%")


def test_the_prescriptions_change_what_a_request_matches(tmp_path: Path) -> None:
    rules = "\n".join(f"{number}. {SORTING[number]}" for number in range(len(SORTING)))
    texts = [f"Time: 2026-03-09 09:{minute:02d}:17\n{rules}" for minute in range(12)]
    trace = log(tmp_path, *[asked(number, f"parcel {number}", text) for number, text in enumerate(texts)])
    found = told(trace, "r7")
    assert found.match is not None
    (fixed,) = after_fixes(trace, find_request(trace, "r7"), advise(trace).prescriptions)
    assert (fixed.id, fixed.safety) == ("P1", "safe")
    assert fixed.tokens > found.match.tokens + 100
    assert fixed.tokens < fixed.prompt_tokens


def test_a_healthy_request_has_nothing_to_change(tmp_path: Path) -> None:
    trace = log(tmp_path, *[asked(number, f"parcel {number}") for number in range(12)])
    assert after_fixes(trace, 5, advise(trace).prescriptions) == ()
