"""Logs whose requests stand in several records: batches, chains of responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.records import Usage
from tests.ingest.reading import read_paths, read_records


def batch(folder: Path) -> tuple[Path, Path]:
    asked = [
        {"custom_id": f"r{n}", "body": {"model": "m", "messages": [{"role": "user", "content": f"q{n}"}]}}
        for n in range(3)
    ]
    said = {"choices": [{"message": {"role": "assistant", "content": "a"}}]}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    told: list[Any] = [
        {"custom_id": "r2", "response": {"status_code": 200, "body": {**said, "usage": usage}}},
        {"custom_id": "r1", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "r9", "response": {"status_code": 200, "body": said}},
    ]
    for name, lines in (("in.jsonl", asked), ("out.jsonl", told)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "in.jsonl", folder / "out.jsonl"


@pytest.mark.parametrize("reverse", [False, True])
def test_batch_answers_find_their_requests(tmp_path: Path, reverse: bool) -> None:
    files = batch(tmp_path)
    read = read_paths(files[::-1] if reverse else files)
    assert [(request.id, request.usage) for request in read.requests] == [
        ("r0", None),
        ("r2", Usage(7, 2, 4)),
    ]
    assert read.requests[1].output and read.requests[1].output.message
    assert [(skip.reason, skip.detail) for skip in read.skips] == [
        ("failed request", "error batch_expired"),
        ("batch output without its request", "requests stand in the batch input file"),
    ]


def response(number: int, previous: int | None, text: str, **more: Any) -> dict[str, Any]:
    request = {"model": "m", "instructions": f"S{number}", "input": text, **more}
    if previous is not None:
        request["previous_response_id"] = f"resp_{previous}"
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": f"A{number}"}],
    }
    return {"request": request, "response": {"id": f"resp_{number}", "object": "response", "output": [said]}}


def spoken(request: Any) -> list[str]:
    return [message.text for message in request.messages]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_a_chain_is_rebuilt_whatever_the_order_of_its_records(tmp_path: Path, order: list[int]) -> None:
    records = [
        response(0, None, "Q0"),
        response(1, 0, "Q1"),
        response(2, 1, "Q2"),
        response(3, 0, "Q3"),
    ]
    read = read_records(tmp_path, *[records[n] for n in order])
    found = {request.id: request for request in read.requests}
    assert not read.skips and len(found) == 4
    # Instructions are not inherited.
    assert spoken(found["resp_2"]) == ["S2", "Q0", "A0", "Q1", "A1", "Q2"]
    assert spoken(found["resp_3"]) == ["S3", "Q0", "A0", "Q3"]
    assert {request.session for request in read.requests} == {"resp_0"}


def test_a_chain_without_its_beginning_gives_no_prompt(tmp_path: Path) -> None:
    read = read_records(tmp_path, response(5, 4, "Q"), response(6, 5, "R"), response(7, None, "T"))
    assert [request.id for request in read.requests] == ["resp_7"]
    assert [skip.reason for skip in read.skips] == ["incomplete chain"] * 2


def test_a_conversation_grows_without_previous_ids(tmp_path: Path) -> None:
    first = response(0, None, "Q0", conversation={"id": "conv_1"})
    second = response(1, None, "Q1", conversation="conv_1")
    read = read_records(tmp_path, first, second)
    assert spoken(read.requests[1]) == ["S1", "Q0", "A0", "Q1"]


def test_a_responses_request_in_a_chat_log_is_named(tmp_path: Path) -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    read = read_records(tmp_path, chat, chat, {"model": "m", "instructions": "Be brief.", "input": "hi"})
    assert [(skip.reason, skip.source.line) for skip in read.skips] == [("Responses API request", 3)]
