"""Seeded conversations that try what templates and tokenizers stumble over, and the records made of them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from radixadvisor.records import Message, Part, Request, Source, Tool, ToolCall, ToolSet

SNIPPETS = (
    "hello",
    "Bonjour à tous",
    "你好,世界。",
    "こんにちは カナ",
    "한국어 문장",
    "🙂👩‍👩‍👧🇩🇪",
    "e\u0301 cafe\u0301",
    "ﬁ ½ ①",
    "  leading",
    "trailing   ",
    "\n",
    "\n\n",
    "\nfoo",
    "bar\n",
    "\t\ttabs",
    "a\r\nb",
    "12345678",
    "3.14159",
    "x=1;y=2",
    '{"a": [1, 2]}',
    "```py\nprint('hi')\n```",
    "don't I'LL we've",
    "https://a.b/c?d=e&f=g",
    "/path/to\n/next",
    "<b>bold</b>",
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "<|eot_id|>",
    "<｜fim▁hole｜>",
    "<|start_header_id|>",
    "[INST",
    "<s",
    "\u00a0nbsp\u00a0",
    "\u3000全角",
    "\u200bzero",
    "ÀÉÎ",
    "МОСКВА",
    "١٢٣",
)


@dataclass(frozen=True)
class Shape:
    """What a family's conversations may hold."""

    snippets: tuple[str, ...] = SNIPPETS
    calls: int = 3
    null_content: bool = True
    content_with_calls: bool = True
    odd_order: bool = True
    reasoning: bool = True
    many_systems: bool = True
    tools: bool = True
    empty: bool = True


def text(rng: random.Random, shape: Shape) -> str:
    count = rng.choice((0, 1, 1, 2, 3, 5, 8)) if shape.empty else rng.choice((1, 2, 3, 5))
    return rng.choice(("", " ", "\n")).join(rng.choice(shape.snippets) for _ in range(count)) or (
        "" if shape.empty else "some text"
    )


def content(rng: random.Random, shape: Shape) -> Any:
    if rng.random() < 0.15:
        return [{"type": "text", "text": text(rng, shape)} for _ in range(rng.randint(1, 3))]
    return text(rng, shape)


def arguments(rng: random.Random, shape: Shape) -> str:
    value = {
        rng.choice(("q", "b", "a", "路径", "x y")): rng.choice(
            (1, 2.5, 1e20, None, True, text(rng, shape), ["z", {"k": text(rng, shape)}], {"n": {}})
        )
        for _ in range(rng.randint(0, 4))
    }
    return json.dumps(
        value,
        ensure_ascii=rng.random() < 0.5,
        separators=rng.choice(((",", ":"), (", ", ": "))),
        indent=rng.choice((None, None, 2)),
    )


def tool_definitions(rng: random.Random, shape: Shape) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": f"tool_{number}",
                "description": text(rng, shape),
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string", "description": text(rng, shape)} for name in "zba"
                    },
                    "required": ["b"],
                },
            },
        }
        for number in range(rng.randint(1, 4))
    ]


def assistant(rng: random.Random, shape: Shape, *, calls: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    if calls and (not shape.content_with_calls or rng.random() < 0.6):
        message["content"] = None if shape.null_content and rng.random() < 0.7 else ""
    else:
        message["content"] = content(rng, shape)
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call{rng.randrange(10**5):05d}",
                "type": "function",
                "function": {"name": rng.choice(("tool_0", "tool_1")), "arguments": arguments(rng, shape)},
            }
            for _ in range(calls)
        ]
    if shape.reasoning and rng.random() < 0.3:
        message["reasoning_content"] = text(rng, shape)
    return message


def conversation(seed: int, shape: Shape) -> dict[str, Any]:
    """One request body in the OpenAI chat form."""
    rng = random.Random(seed)
    messages: list[dict[str, Any]] = []
    if rng.random() < 0.6:
        messages.append({"role": "system", "content": content(rng, shape)})
    for _ in range(rng.randint(1, 4)):
        if not (shape.odd_order and rng.random() < 0.1):
            messages.append({"role": "user", "content": content(rng, shape)})
            if shape.many_systems and rng.random() < 0.1:
                messages.append({"role": "system", "content": content(rng, shape)})
        while shape.calls and rng.random() < 0.45:
            turn = assistant(rng, shape, calls=rng.randint(1, shape.calls))
            messages.append(turn)
            for call in turn["tool_calls"]:
                messages.append({"role": "tool", "content": content(rng, shape), "tool_call_id": call["id"]})
        messages.append(assistant(rng, shape, calls=0))
        if shape.many_systems and shape.odd_order and rng.random() < 0.1:
            messages.append({"role": "system", "content": content(rng, shape)})
    if not (shape.odd_order and rng.random() < 0.25):
        messages.append({"role": "user", "content": content(rng, shape)})
    body: dict[str, Any] = {"messages": messages}
    if shape.tools and rng.random() < 0.5:
        body["tools"] = tool_definitions(rng, shape)
    return body


def as_request(body: dict[str, Any], **fields: Any) -> Request:
    """The record that a reader makes of a body."""
    tools = body.get("tools")
    return Request(
        id="r",
        source=Source("made", 1),
        messages=tuple(_message(message) for message in body["messages"]),
        tools=tools and ToolSet(tuple(Tool(t["function"]["name"], json.dumps(t)) for t in tools)),
        **fields,
    )


def _message(message: dict[str, Any]) -> Message:
    body = message["content"]
    return Message(
        role=message["role"],
        content=body
        if body is None or isinstance(body, str)
        else tuple(Part("text", p["text"]) for p in body),
        tool_calls=tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ),
        tool_call_id=message.get("tool_call_id"),
        name=message.get("name"),
        reasoning=message.get("reasoning_content"),
    )


def for_template(body: dict[str, Any], *, parse_arguments: bool, keep_null: bool) -> list[dict[str, Any]]:
    """The messages as an engine hands them to a model's own template: flattened, arguments parsed."""
    messages = []
    for message in body["messages"]:
        flat = dict(message)
        if isinstance(flat["content"], list):
            flat["content"] = "\n".join(part["text"] for part in flat["content"])
        elif flat["content"] is None and not keep_null:
            flat["content"] = ""
        if "tool_calls" in flat:
            flat["tool_calls"] = [
                {
                    **call,
                    "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])},
                }
                if parse_arguments
                else call
                for call in flat["tool_calls"]
            ]
        messages.append(flat)
    return messages
