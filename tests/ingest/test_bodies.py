"""Requests out of every wrapping that gateways log: body, envelope, metadata, response, usage, failure."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.records import Output, Usage
from tests.ingest.reading import one, plain, read_bytes, read_records

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
BODY: dict[str, Any] = {"model": "m", "messages": MESSAGES, "tools": TOOLS, "logprobs": True}
COMPLETION = {
    "id": "cmpl-1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "yo"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}
ENVELOPE = {"request_id": "r1", "timestamp": "2026-01-01T00:00:00Z", "latency_ms": 80}

WRAPPINGS: dict[str, dict[str, Any]] = {
    "flat": {**ENVELOPE, **BODY, "response": COMPLETION},
    "request": {**ENVELOPE, "request": BODY, "response": COMPLETION},
    "body": {**ENVELOPE, "body": BODY, "response_body": COMPLETION},
    "requestBody": {**ENVELOPE, "requestBody": BODY, "responseBody": COMPLETION},
    "string in string": {
        **ENVELOPE,
        "request_json": json.dumps(BODY),
        "response_json": json.dumps(COMPLETION),
    },
    "request.body": {
        **ENVELOPE,
        "request": {"method": "POST", "body": BODY},
        "response": {"body": COMPLETION},
    },
    "request.body as string": {
        **ENVELOPE,
        "request": {"headers": {}, "body": json.dumps(BODY)},
        "response": {"status_code": 200, "body": json.dumps(COMPLETION)},
    },
    "docker": {"log": json.dumps({**ENVELOPE, **BODY, "response": COMPLETION}) + "\n", "stream": "stdout"},
    "other letters": {
        "requestId": "r1",
        "Timestamp": "2026-01-01T00:00:00Z",
        "latencyMs": 80,
        "payload": BODY,
        "result": COMPLETION,
    },
    "merged with the response": {
        **BODY,
        **ENVELOPE,
        **{key: COMPLETION[key] for key in ("choices", "usage")},
    },
    "messages as string": {**ENVELOPE, **BODY, "messages": json.dumps(MESSAGES), "response": COMPLETION},
}


@pytest.mark.parametrize("name", WRAPPINGS)
def test_every_wrapping_gives_the_same_request(tmp_path: Path, name: str) -> None:
    request = one(tmp_path, WRAPPINGS[name])
    expected = one(tmp_path, WRAPPINGS["flat"])
    assert plain(request) == plain(expected)
    assert (request.id, request.arrival, request.latency, request.model) == ("r1", 1767225600.0, 0.08, "m")
    assert request.output and request.output.message and request.output.message.content == "yo"
    assert request.usage == Usage(9, 2) and request.parameters == {"logprobs": "true"}
    assert request.tools and request.tools.tools[0].raw == json.dumps(TOOLS[0])


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ({"metadata": {"session_id": "s"}}, "session", "s"),
        ({"session_id": "s", "metadata": {"session_id": "other"}}, "session", "s"),
        ({"metadata": {"conversation_id": 17}}, "session", "17"),
        ({"threadId": "s"}, "session", "s"),
        ({"metadata": {"tenant": "t"}}, "tenant", "t"),
        ({"team_id": "t"}, "tenant", "t"),
        ({"metadata": {"replica": "gpu-3"}}, "replica", "gpu-3"),
        ({"metadata": {"app": "helpdesk"}}, "app", "helpdesk"),
        ({"user": "u"}, "user", "u"),
        ({"metadata": {"user_id": "u"}}, "user", "u"),
        ({"priority": 3}, "priority", 3),
        ({"priority": "high"}, "priority", 0),
        ({"metadata": {"status": "failed"}}, "session", None),
        ({"cache_salt": "a"}, "namespace", (("cache_salt", "a"),)),
        ({"lora_request": {"lora_name": "fin", "lora_int_id": 1}}, "namespace", (("lora", "fin"),)),
        (
            {"extra_body": {"cache_salt": "a", "lora_name": "b"}},
            "namespace",
            (("cache_salt", "a"), ("lora", "b")),
        ),
        ({"tool_choice": {"type": "none"}}, "parameters", {"tool_choice": '{"type": "none"}'}),
        (
            {"extra_body": {"chat_template_kwargs": {"b": 1, "a": 2}}},
            "parameters",
            {"chat_template_kwargs": '{"b": 1, "a": 2}'},
        ),
        ({"prompt_logprobs": 0, "temperature": 1}, "parameters", {"prompt_logprobs": "0"}),
        ({"reasoning": "what the model thought"}, "parameters", {}),
        ({"reasoning": {"effort": "low"}}, "parameters", {"reasoning": '{"effort": "low"}'}),
        ({"functions": [{"name": "f"}]}, "tools", [("f", '{"name": "f"}')]),
        ({"tools": json.dumps(TOOLS)}, "tools", [("f", json.dumps(TOOLS[0]))]),
        ({"tools": []}, "tools", None),
        ({"request_id": 17}, "id", "17"),
        ({"request_id": "", "id": "x"}, "id", "x"),
    ],
)
def test_what_an_envelope_says(tmp_path: Path, fields: dict[str, Any], field: str, value: Any) -> None:
    request = one(tmp_path, {"model": "m", "messages": MESSAGES, **fields})
    assert plain(request)[field] == value


@pytest.mark.parametrize(
    ("response", "output"),
    [
        ("plain words", Output(text="plain words")),
        ('{"answer": 42}', Output(text='{"answer": 42}')),
        ("[1, 2]", Output(text="[1, 2]")),
        ({"answer": 42}, Output(text='{"answer": 42}')),
        ([5, 6], Output(tokens=array("i", [5, 6]).tobytes())),
        ({"choices": [{"text": "t"}]}, Output(text="t")),
        ({"choices": [{"text": "t", "finish_reason": "length"}]}, Output(text="t", stopped=False)),
        ({"output_text": "t"}, Output(text="t")),
        ({"id": "x", "choices": []}, None),
        (None, None),
        (7, Output(length=7)),
    ],
)
def test_what_came_back(tmp_path: Path, response: Any, output: Output | None) -> None:
    assert one(tmp_path, {"messages": MESSAGES, "response": response}).output == output


def test_a_response_cut_by_its_limit_has_no_stop_token(tmp_path: Path) -> None:
    cut = {"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}]}
    request = one(tmp_path, {"messages": MESSAGES, "response": cut})
    assert request.output and request.output.stopped is False


def test_an_unreadable_response_costs_the_output_and_is_told(tmp_path: Path) -> None:
    line = json.dumps({"messages": MESSAGES, "response": {"role": "assistant", "content": "?"}}).encode()
    line = line.replace(b"?", b"\xff")
    read = read_bytes(tmp_path, line)
    assert [request.output for request in read.requests] == [None]
    assert read.log.notes == [
        "1 responses could not be read (not valid UTF-8); their requests have no output."
    ]


def test_reasoning_and_calls_of_a_response_are_kept(tmp_path: Path) -> None:
    answer = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    request = one(tmp_path, {"messages": MESSAGES, "response": answer})
    assert request.output and request.output.message
    assert request.output.message.reasoning == "hm" and request.output.message.tool_calls[0].name == "f"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(9, 2)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, None, 4)),
        ({"prompt_tokens": 9, "prompt_tokens_details": None, "completion_tokens": 0}, Usage(9, 0)),
        (
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 1},
            Usage(9, None, 8),
        ),
        (
            {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 1},
            Usage(9, 1, 4),
        ),
        (
            {
                "input_tokens": 9,
                "cache_creation_input_tokens": 30,
                "cache_read_input_tokens": 400,
                "output_tokens": 1,
            },
            Usage(439, 1, 400, 30),
        ),
        (
            {"prompt_tokens": 1857, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1857},
            Usage(1857, None, 0, 1857),
        ),
        ({"prompt_tokens": 12, "cache_read_input_tokens": 1500}, Usage(1512, None, 1500)),
        ({"prompt_tokens": -1, "completion_tokens": "7"}, Usage(None, 7)),
        ({}, None),
    ],
)
def test_cached_tokens_are_inside_the_prompt(
    tmp_path: Path, usage: dict[str, Any], expected: Usage | None
) -> None:
    assert one(tmp_path, {"messages": MESSAGES, "usage": usage}).usage == expected


@pytest.mark.parametrize(
    ("record", "reason", "detail"),
    [
        ({"messages": MESSAGES, "status_code": 429}, "failed request", "status 429"),
        ({"messages": MESSAGES, "status": "error"}, "failed request", "status error"),
        (
            {"messages": MESSAGES, "error": {"message": "secret", "type": "overloaded_error"}},
            "failed request",
            "error overloaded_error",
        ),
        ({"messages": MESSAGES, "error": "secret words"}, "failed request", "error"),
        (
            {"messages": MESSAGES, "response": {"error": {"code": "rate_limit"}}},
            "failed request",
            "error rate_limit",
        ),
        (
            {"messages": MESSAGES, "response": {"status_code": 500, "body": {}}},
            "failed request",
            "status 500",
        ),
        ({"model": "text-embedding-3-small", "input": "words"}, "embedding request", ""),
        ({"url": "/v1/embeddings", "body": {"model": "bge", "input": ["words"]}}, "embedding request", ""),
        ({"call_type": "aembedding", "messages": MESSAGES}, "embedding request", ""),
        ({"model": "dall-e-3", "prompt": "a cat", "n": 1, "size": "1x1"}, "image generation request", ""),
        ({"model": "m"}, "no messages", ""),
        ({"messages": []}, "no messages", "the list is empty"),
        ({"messages": 5}, "no messages", "messages is neither a list nor text"),
        ({"messages": [{"content": "x"}]}, "message without a role", ""),
        ({"messages": ["x"]}, "message is not an object", ""),
        ({"messages": "redacted-by-litellm"}, "prompt text redacted", ""),
        ({"prompt": [1, 2**40]}, "prompt of an unknown form", ""),
    ],
)
def test_what_is_no_usable_request(tmp_path: Path, record: dict[str, Any], reason: str, detail: str) -> None:
    read = read_records(tmp_path, record)
    assert read.requests == []
    assert [(skip.reason, skip.detail, skip.source.line) for skip in read.skips] == [(reason, detail, 1)]


@pytest.mark.parametrize(
    "harmless",
    [
        {"status_code": 200},
        {"status": "success"},
        {"error": None},
        {"error": ""},
        {"error": {}},
        {"url": "https://speech.example.com/v1/chat/completions"},
        {"path": "/images-app/v1/chat/completions"},
    ],
)
def test_what_only_looks_like_a_failure(tmp_path: Path, harmless: dict[str, Any]) -> None:
    one(tmp_path, {"messages": MESSAGES, **harmless})


def test_a_delivery_repeated_is_dropped_and_a_request_repeated_is_kept(tmp_path: Path) -> None:
    first = {"request_id": "a", "timestamp": 1e9, "messages": MESSAGES}
    read = read_records(
        tmp_path,
        first,
        first,
        {**first, "request_id": "b"},
        {**first, "timestamp": 1e9 + 1},
        {"messages": MESSAGES},
        {"messages": MESSAGES},
    )
    assert [request.source.line for request in read.requests] == [1, 3, 4, 5, 6]
    assert [(skip.reason, skip.source.line) for skip in read.skips] == [("duplicate delivery", 2)]
    assert read.requests[-1].id == f"{tmp_path / 'log.jsonl'}:6"


def test_key_order_and_number_forms_survive(tmp_path: Path) -> None:
    tool = b'{"function": {"parameters": {"z": 1.0, "a": 1e3}, "name": "f"} , "type": "function"}'
    line = b'{"messages": [{"role": "user", "content": "x"}], "tools": [' + tool + b"]}\n"
    (request,) = read_bytes(tmp_path, line).requests
    assert request.tools and request.tools.tools[0].raw == tool.decode()


def test_a_system_prompt_beside_messages_leads_them(tmp_path: Path) -> None:
    request = one(tmp_path, {"system": "S", "messages": [{"role": "user", "content": "hi"}]})
    assert request.messages and [message.content for message in request.messages] == ["S", "hi"]
    request = one(tmp_path, {"system": "S", "prompt": "hi"})
    assert request.messages and [message.content for message in request.messages] == ["S", "hi"]
