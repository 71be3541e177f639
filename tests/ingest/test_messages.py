"""Every form of message content, as records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.ingest.content import messages_of, simple_message
from radixadvisor.ingest.intern import Interner
from radixadvisor.ingest.parts import placeholder
from radixadvisor.ingest.raw import Raw, Unusable
from radixadvisor.records import CacheControl, Message, Part, ToolCall
from tests.ingest.reading import fields_of

PNG = "data:image/png;base64,iVBORw0KGgo="


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def text(*texts: str) -> tuple[Part, ...]:
    return tuple(Part("text", item) for item in texts)


CASES: list[tuple[str, dict[str, Any], list[Message]]] = [
    ("string", {"role": "user", "content": "hi"}, [Message("user", "hi")]),
    ("developer", {"role": "developer", "content": "be kind"}, [Message("developer", "be kind")]),
    ("null", {"role": "assistant", "content": None}, [Message("assistant", None)]),
    ("absent", {"role": "assistant"}, [Message("assistant", None)]),
    ("empty string", {"role": "user", "content": ""}, [Message("user", "")]),
    ("empty list", {"role": "user", "content": []}, [Message("user", ())]),
    ("name", {"role": "user", "name": "Ann", "content": "hi"}, [Message("user", "hi", name="Ann")]),
    (
        "text parts of every spelling",
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "input_text", "text": "b"},
                {"type": "output_text", "text": "c"},
                "d",
                {"text": "e"},
            ],
        },
        [Message("user", text("a", "b", "c", "d", "e"))],
    ),
    (
        "one part as object",
        {"role": "user", "content": {"type": "text", "text": "x"}},
        [Message("user", text("x"))],
    ),
    ("number as content", {"role": "user", "content": 3.50}, [Message("user", "3.5")]),
    (
        "image by URL",
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}]},
        [Message("user", (Part("image", placeholder("image", PNG.encode())),))],
    ),
    (
        "image by bare string",
        {"role": "user", "content": [{"type": "input_image", "image_url": PNG}]},
        [Message("user", (Part("image", placeholder("image", PNG.encode())),))],
    ),
    (
        "Anthropic image",
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "iVBO"}}]},
        [Message("user", (Part("image", placeholder("image", b"iVBO")),))],
    ),
    (
        "audio",
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}],
        },
        [Message("user", (Part("audio", placeholder("audio", b"UklG")),))],
    ),
    (
        "file",
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}}]},
        [Message("user", (Part("file", placeholder("file", b"file-1")),))],
    ),
    (
        "document with text",
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "whole text"}}]},
        [Message("user", (Part("document", "whole text"),))],
    ),
    (
        "unknown part with text",
        {"role": "user", "content": [{"type": "quote", "text": "kept"}]},
        [Message("user", (Part("quote", "kept"),))],
    ),
    (
        "unknown part without text",
        {"role": "user", "content": [{"type": "blob", "x": 1}]},
        [Message("user", (Part("blob", placeholder("blob", b'{"type": "blob", "x": 1}')),))],
    ),
    (
        "tool call with its arguments verbatim",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b" :1,"a": 2.0}'}}
            ],
        },
        [Message("assistant", None, (ToolCall("c1", "f", '{"b" :1,"a": 2.0}'),))],
    ),
    (
        "tool call with an object of arguments",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}],
        },
        [Message("assistant", None, (ToolCall("c1", "f", '{"b": 1, "a": 2}'),))],
    ),
    (
        "custom tool call",
        {"role": "assistant", "tool_calls": [{"id": "c2", "custom": {"name": "sh", "input": "ls"}}]},
        [Message("assistant", None, (ToolCall("c2", "sh", "ls"),))],
    ),
    (
        "legacy function call",
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        [Message("assistant", None, (ToolCall(None, "f", "{}"),))],
    ),
    (
        "tool result",
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        [Message("tool", "42", tool_call_id="c1")],
    ),
    (
        "function result",
        {"role": "function", "name": "f", "content": "42"},
        [Message("function", "42", name="f")],
    ),
    (
        "refusal",
        {"role": "assistant", "content": None, "refusal": "No."},
        [Message("assistant", (Part("refusal", "No."),))],
    ),
    (
        "reasoning",
        {"role": "assistant", "content": "42", "reasoning_content": "think"},
        [Message("assistant", "42", reasoning="think")],
    ),
    (
        "Anthropic assistant turn",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"z": 1, "a": [True]}},
            ],
        },
        [
            Message(
                "assistant", text("Looking."), (ToolCall("t1", "f", '{"z": 1, "a": [true]}'),), reasoning="hm"
            )
        ],
    ),
    (
        "Anthropic tool results between text",
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "shipped"},
                {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "ok"}]},
                {"type": "text", "text": "and now?"},
            ],
        },
        [
            Message("tool", "shipped", tool_call_id="t1"),
            Message("tool", text("ok"), tool_call_id="t2"),
            Message("user", text("and now?")),
        ],
    ),
    (
        "cache control on a block",
        {
            "role": "user",
            "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        },
        [Message("user", (Part("text", "a", CacheControl("1h")),))],
    ),
    (
        "cache control on a message",
        {"role": "user", "content": "a", "cache_control": {"type": "ephemeral"}},
        [Message("user", (Part("text", "a", CacheControl()),))],
    ),
    (
        "cache control on a tool call after text",
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "a"},
                {
                    "type": "tool_use",
                    "id": "t",
                    "name": "f",
                    "input": {},
                    "cache_control": {"type": "ephemeral"},
                },
            ],
        },
        [Message("assistant", (Part("text", "a", CacheControl()),), (ToolCall("t", "f", "{}"),))],
    ),
]


@pytest.mark.parametrize(
    ("message", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_every_form_of_content(message: dict[str, Any], expected: list[Message]) -> None:
    found = messages_of(raw(message))
    assert [fields_of(item) for item in found] == [fields_of(item) for item in expected]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"content": "x"}, "message without a role"),
        ({"role": None, "content": "x"}, "message without a role"),
        ({"role": 3, "content": "x"}, "message without a role"),
        ("just text", "message is not an object"),
        ({"role": "user", "content": "redacted-by-litellm"}, "prompt text redacted"),
    ],
)
def test_what_is_no_message(message: Any, reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        messages_of(raw(message))
    assert caught.value.reason == reason


def test_media_never_leave_their_data_in_the_text() -> None:
    (message,) = messages_of(
        raw({"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]})
    )
    assert "iVBOR" not in message.text and message.text.startswith("<image:")
    assert len(message.text) == len("<image:") + 16 + 1


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    (message,) = messages_of(Raw(rb'{"role":"user","content":"a\ud800b \ud83d\ude00 \\ud800"}'))
    assert message.content == "a\ufffdb 😀 \\ud800"


words = st.text(max_size=20)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", ""])},
    optional={
        "content": st.one_of(
            st.none(), words, st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": words}))
        ),
        "name": words,
        "tool_call_id": words,
    },
)


@settings(max_examples=150, deadline=None)
@given(messages)
def test_the_quick_way_gives_what_the_thorough_way_gives(message: dict[str, Any]) -> None:
    quick = simple_message(raw(message))
    if quick is not None:
        assert [fields_of(item) for item in quick] == [fields_of(item) for item in messages_of(raw(message))]
    elif set(message) == {"role", "content"} and isinstance(message["content"], str):
        assert not message["role"]


def test_equal_text_is_one_object() -> None:
    interner = Interner()
    hello = raw({"role": "user", "content": "hello"})
    first = interner.messages([hello, raw({"role": "assistant", "content": "hi"})])
    again = interner.messages([Raw(bytes(hello)), raw({"role": "user", "content": "bye"})])
    assert first[0] is again[0] and first[1] is not again[1]
    assert interner.answer(raw({"role": "assistant", "content": "hi"})) is first[1]
    tools = raw(
        [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]
    )
    turned = raw(
        [{"type": "function", "function": {"name": "g"}}, {"type": "function", "function": {"name": "f"}}]
    )
    one, same, other = interner.tools(tools), interner.tools(Raw(bytes(tools))), interner.tools(turned)
    assert one is same and one is not other
    assert one is not None and other is not None and one.tools == other.tools[::-1]


def test_an_answer_without_a_role_does_not_lend_its_role_to_a_prompt() -> None:
    interner = Interner()
    nameless = raw({"content": "x"})
    assert interner.answer(nameless).role == "assistant"
    with pytest.raises(Unusable):
        interner.messages([nameless])
