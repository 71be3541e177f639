"""Spans in the layouts that exporters write: typed arrays, nested, columns, events, log records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.records import Usage
from tests.ingest.reading import one, read_records

TURNS = [{"role": "user", "content": f"turn {n}"} for n in range(12)]


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": typed(v)} for k, v in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(each) for each in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def otlp(attributes: dict[str, Any], **span: Any) -> dict[str, Any]:
    listed = [{"key": key, "value": typed(value)} for key, value in attributes.items()]
    whole = {"spanId": "s1", "attributes": listed, "startTimeUnixNano": "1767225600000000000", **span}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}


def flat(prefix: str, **names: str) -> dict[str, Any]:
    return {f"{prefix}.{n}.{names[key]}": turn[key] for n, turn in enumerate(TURNS) for key in turn}


OPEN = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 9}
GEN = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
LISTED = flat("llm.input_messages", role="message.role", content="message.content")
LEGACY = flat("gen_ai.prompt", role="role", content="content")
NESTED = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "model_name": "m",
        "token_count": {"prompt": 9},
        "input_messages": {str(n): {"message": turn} for n, turn in reversed(list(enumerate(TURNS)))},
    },
}
COLUMN = [{"message.role": turn["role"], "message.content": turn["content"]} for turn in TURNS]


@pytest.mark.parametrize(
    "record",
    [
        {"attributes": {**OPEN, **dict(sorted(LISTED.items()))}},
        {"attributes": NESTED},
        {f"attributes.{key}": value for key, value in {**OPEN, "llm.input_messages": COLUMN}.items()},
        {"span_kind": "LLM", "attributes": {**OPEN, "input.value": json.dumps({"messages": TURNS})}},
        otlp({**OPEN, **LISTED}),
        otlp({**GEN, **dict(sorted(LEGACY.items()))}),
        otlp({**GEN, "gen_ai.input.messages": TURNS}),
        otlp({**GEN, "gen_ai.input.messages": json.dumps(TURNS)}),
        {"attributes": {**GEN, "gen_ai.prompt": json.dumps(TURNS)}, "span_id": "s"},
        otlp(
            {**GEN},
            events=[
                {
                    "name": "gen_ai.user.message",
                    "attributes": [{"key": "content", "value": typed(turn["content"])}],
                }
                for turn in TURNS
            ],
        ),
    ],
)
def test_every_layout_gives_the_same_turns_in_order(tmp_path: Path, record: dict[str, Any]) -> None:
    request = one(tmp_path, record)
    assert [message.text for message in request.messages or ()] == [turn["content"] for turn in TURNS]
    assert (request.model, request.usage) == ("m", Usage(9))


@pytest.mark.parametrize("reverse", [False, True])
def test_log_records_find_their_span(tmp_path: Path, reverse: bool) -> None:
    logs = [
        {
            "spanId": "s1",
            "eventName": "gen_ai.user.message",
            "timeUnixNano": "1767225600000000000",
            "body": typed({"content": "hello"}),
        }
    ]
    records = [otlp(GEN), {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}]
    read = read_records(tmp_path, *(records[::-1] if reverse else records))
    (request,) = read.requests
    assert request.messages and request.messages[0].text == "hello"
    assert (request.model, request.usage, read.skips) == ("m", Usage(9), [])


def test_agents_and_chains_are_no_calls(tmp_path: Path) -> None:
    spans = [
        {"attributes": {"openinference.span.kind": "CHAIN", "input.value": "x", "llm.model_name": "m"}},
        {"attributes": {**OPEN, **LISTED}},
    ]
    read = read_records(tmp_path, *spans)
    assert len(read.requests) == 1 and read.log.notes == ["1 spans are no model calls."]


def test_spans_without_content_say_how_to_switch_it_on(tmp_path: Path) -> None:
    read = read_records(tmp_path, otlp(GEN))
    assert [skip.reason for skip in read.skips] == ["no prompt text"]
    assert "9 prompt tokens in calls without prompt text." in read.log.notes
