"""Token usage as a server would report it: counted under the model's own template and vocabulary."""

from __future__ import annotations

import json
from functools import cache

from envelope import Call
from envelope import Message as Logged

from radixadvisor.records import Message, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render.registry import render_text
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.engine import TokenizerChoice, choose

_chosen = cache(choose)


def _message(logged: Logged) -> Message:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in logged.get("tool_calls", ())
    )
    return Message(logged["role"], logged["content"], calls, logged.get("tool_call_id"))


def _count(choice: TokenizerChoice, messages: list[Logged], tools: tuple[Logged, ...] = ()) -> int:
    request = Request(
        id="count",
        source=Source("count", 1),
        messages=tuple(_message(message) for message in messages),
        tools=ToolSet(tuple(Tool(tool["function"]["name"], json.dumps(tool)) for tool in tools))
        if tools
        else None,
    )
    return len(unpack(encode_prompt_text(choice.tokenizer, render_text(choice.renderer, request))))


def usage(call: Call) -> dict[str, int]:
    """Prompt tokens with the generation prompt, completion tokens with the stop token, and their sum."""
    choice = _chosen(call.model)
    prompt = _count(choice, list(call.messages), call.tools)
    before = [{"role": "user", "content": "."}]
    # The next prompt is this one, the reply with its stop token, a line break and a generation prompt.
    frame = _count(choice, [*before, {"role": "assistant", "content": ""}]) - _count(choice, before) - 1
    completion = _count(choice, [*before, call.reply]) - _count(choice, before) - frame
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
