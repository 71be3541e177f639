"""The shorter way through a log's records gives exactly what the general way gives."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radixadvisor.ingest import read_log
from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.drafts import generated, plain_message, source_of
from radixadvisor.ingest.raw import Raw
from radixadvisor.ingest.shortcut import Shortcut
from radixadvisor.records import Message, Output, Request, Skip, Source
from tests.ingest.reading import fields_of, plain, read_records

TEXTS = ["", "hi", "naïve 中\n", "__REDACTED__", '{"messages": []}', "\ud800", "[1]", "null", "500"]
SCALARS = [None, True, False, 0, 7, -1, 1.5, 1e30, *TEXTS]
TURNS: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hi"},
    {"content": "hi", "role": "user"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "4"}]},
    {"role": "user", "content": "__REDACTED__"},
    {"role": "", "content": "x"},
    {"content": "no role"},
    "a string",
    7,
]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": 2.0}}}]
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "yo"}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
COMPLETION = {"id": "cmpl", "created": 1750000009, "model": "m-2", "choices": [CHOICE], "usage": USAGE}
RESPONSES: list[Any] = [
    COMPLETION,
    {**COMPLETION, "choices": []},
    {"error": {"code": "overloaded"}},
    {"status_code": 429, "body": {}},
    {"role": "assistant", "content": "yo"},
    {"choices": [{"text": "t", "finish_reason": "length"}], "status_code": 200},
    json.dumps(COMPLETION),
    [5, 6],
    12,
    "words",
]
OBJECTS: list[Any] = [{}, [], {"session_id": "s", "status": "failed"}, {"user_id": 5, "tenant": "t"}]
STAMPS = [1750000001, 1750000002.5, 1750000003000, "2026-01-01T00:00:00Z", "soon", 40]
KINDS: list[tuple[tuple[str, ...], list[Any]]] = [
    (("id", "request_id", "custom_id"), ["r1", "r2", 17, ""]),
    (("timestamp", "start_time", "created", "end_time", "completionStartTime"), STAMPS),
    (("latency_ms", "latency", "ttft", "duration"), [80, 0.5, "120ms", -1]),
    (("model", "session_id", "Session-Id", "user", "tenant", "app", "replica"), ["a", "b", 3]),
    (("response", "output", "response_body", "responseBody"), RESPONSES),
    (("choices", "response"), [[CHOICE], COMPLETION]),
    (("metadata", "meta"), [*OBJECTS, {"user_id": 6, "session_id": "z"}]),
    (("extra_body", "request", "sampling_params"), [*OBJECTS, {"tool_choice": "none"}]),
    (("tools", "functions"), [TOOLS, json.dumps(TOOLS), [], TOOLS[0]]),
    (("tool_choice", "logprobs", "reasoning"), ["x", {"a": 1}, 1]),
    (("cache_salt", "lora_name", "lora", "adapter"), ["x", "y", {"name": "z"}]),
    (("status", "error", "url"), ["ok", "failed", 200, 500, "/v1/embeddings", {"type": "e"}]),
    (("usage", "prompt_tokens", "cached_tokens", "priority"), [USAGE, 3, 2**40]),
    (("system", "prompt", "temperature", 'a "quote"', "schlüssel", ""), ["Be brief.", [1]]),
]
VALUES = {name: values for names, values in KINDS for name in names}


def one_line(draw: st.DrawFn, names: list[str]) -> bytes:
    rarely = st.integers(0, 11).map(lambda number: number == 0)
    record: dict[str, Any] = {}
    for name in names:
        if not draw(rarely):
            record[name] = draw(st.sampled_from(SCALARS if draw(rarely) else VALUES[name]))
    if not draw(rarely):
        odd = draw(rarely)
        messages = draw(st.lists(st.sampled_from(TURNS if odd else TURNS[:5]), min_size=1, max_size=4))
        record["messages"] = json.dumps(messages) if draw(rarely) else messages
    pairs = [f"{json.dumps(name)}: {json.dumps(record[name])}" for name in draw(st.permutations([*record]))]
    if draw(rarely) and pairs:
        pairs.append(draw(st.sampled_from(pairs)))
    end = draw(st.sampled_from(["", " ", "}", "}{}"])) if draw(rarely) else "}"
    data = ("{" + ", ".join(pairs) + end).encode()
    return data.replace(b'"hi"', b'"\xff"') if draw(rarely) else data


@st.composite
def lines_of_a_log(draw: st.DrawFn) -> list[bytes]:
    """Lines that share a few keys: each holds most of them, in an order of its own, now and then with an odd
    value; some are damaged. Lines come again, so that keys are met that were learned.
    """
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    some = [draw(st.lists(st.sampled_from(known), min_size=1, max_size=3)) for known, _ in kinds]
    names = sorted({name for chosen in some for name in chosen})
    lines = [one_line(draw, names) for _ in range(draw(st.integers(1, 4)))]
    return [*lines, *draw(st.permutations(lines))]


def told(path: Path, form: str | None) -> tuple[list[Any], list[str]]:
    """All that a reader of the log gets to know; messages are told apart by their objects, too."""
    log = read_log(path, format=form)
    objects: dict[int, int] = {}
    kept: list[Request | Skip] = []  # alive, so that no object takes another's place
    seen: list[Any] = []
    for record in log:
        kept.append(record)
        if isinstance(record, Skip):
            seen.append(record)
            continue
        shared = [*(record.messages or ()), record.tools, record.output and record.output.message]
        numbers = [objects.setdefault(id(item), len(objects)) for item in shared]
        seen.append((record.source, plain(record), numbers))
    return seen, log.notes


def generally(path: Path, form: str | None) -> tuple[list[Any], list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shortcut, "read", lambda *_: None)
        return told(path, form)


@settings(
    deadline=None,
    derandomize=True,
    max_examples=500,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines_of_a_log())
def test_generated_envelopes(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert told(path, "openai_chat") == generally(path, "openai_chat")


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        ("lora", "lora_name", ("x", "y")),
        ("meta", "metadata", ({"session_id": "x"}, {"session_id": "y"})),
        ("response_body", "responseBody", ("x", "y")),
    ],
)
def test_keys_whose_order_decides(tmp_path: Path, one: str, other: str, values: tuple[Any, Any]) -> None:
    path = tmp_path / "log.jsonl"
    pairs = [("messages", TURNS[:2]), (one, values[0]), (other, values[1])]
    path.write_text("".join(json.dumps(dict(order)) + "\n" for order in (pairs, pairs[::-1])))
    seen, _ = told(path, "openai_chat")
    assert (seen, []) == generally(path, "openai_chat")
    (_, first, _), (_, second, _) = seen
    assert any(first[name] != second[name] for name in ("namespace", "session", "output"))


def test_samples(tmp_path: Path) -> None:
    for path in sorted((Path(__file__).parents[2] / "samples").glob("*.jsonl")):
        assert told(path, None) == generally(path, None)


def test_the_usual_envelope_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {
        "request_id": "r",
        "timestamp": 1750000000.5,
        "latency_ms": 80,
        "model": "m",
        "metadata": {"session_id": "s"},
        "messages": TURNS[:2],
        "response": COMPLETION,
        "cache_salt": "x",
    }
    taken = []
    read = Shortcut.read

    def spy(self: Shortcut, data: bytes, source: Source) -> list[Request] | None:
        found = read(self, data, source)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(Shortcut, "read", spy)
    wider = {**line, "tools": TOOLS}
    records = [{**each, "request_id": n} for n, each in enumerate([line, line, wider, line, wider])]
    read_records(tmp_path, *records)
    assert taken == [False, True, False, True, True]


def test_keys_without_end_are_not_learned() -> None:
    shortcut = Shortcut(Context())
    for number in range(200):
        shortcut.learn({"messages": Raw(b"[]"), f"key {number}": Raw(b"1")})
    line = b'{"messages": [{"role": "user", "content": "hi"}], "key %d": 1}'
    assert shortcut.read(line % 0, Source("log", 1)) is not None
    assert shortcut.read(line % 199, Source("log", 1)) is None


def test_drafts_become_whole_records() -> None:
    message = plain_message("user", "hi")
    assert type(message) is Message and fields_of(message) == fields_of(Message("user", "hi"))
    assert generated(message, stopped=False) == Output(message=message, stopped=False)
    assert source_of("log", 3) == Source("log", 3)
    line = b'{"messages": [{"role": "user", "content": "hi"}]}'
    shortcut = Shortcut(Context())
    shortcut.learn({"messages": Raw(b"[]")})
    (request,) = shortcut.read(line, Source("log", 1)) or []
    assert type(request) is Request
    assert all(hasattr(request, field.name) for field in fields(Request))
    assert plain(request) == plain(Request("log:1", Source("log", 1), messages=request.messages))
