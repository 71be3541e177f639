"""One logged request as a gateway writes it: body, response and envelope, in integer milliseconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

Message = dict[str, Any]

QWEN = "qwen2.5-7b-instruct"
TENANTS = ("north", "south", "west")

START = datetime(2026, 2, 3, 9, 0, tzinfo=UTC)
PREFILL_CHARACTERS_PER_MS = 85
DECODE_MS_PER_CHARACTER = 3


@dataclass(frozen=True, slots=True)
class Style:
    """How one log is written: ``clock`` is iso, seconds or ms; ``reply`` is completion, message or text;
    ``usage`` tells whether the gateway kept the token counts.
    """

    clock: str = "iso"
    reply: str = "completion"
    usage: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """One request before it is written down; ``at`` is its arrival in ms after the start of the log."""

    at: int
    request_id: str
    app: str
    tenant: str
    session: str
    model: str
    messages: tuple[Message, ...]
    reply: Message
    ttft: int
    latency: int
    tools: tuple[Message, ...] = ()


def timed_call(rng: Random, *, at: int, messages: list[Message], reply: Message, **fields: Any) -> Call:
    """A call whose times follow from its size, as on one engine without a prefix cache, with some jitter."""
    tools = fields.get("tools", ())
    prompt = sum(len(json.dumps(part)) for part in (*messages, *tools))
    ttft = 30 + prompt // PREFILL_CHARACTERS_PER_MS + rng.randrange(25)
    latency = ttft + 20 + len(json.dumps(reply)) * DECODE_MS_PER_CHARACTER
    return Call(at=at, messages=tuple(messages), reply=reply, ttft=ttft, latency=latency, **fields)


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def stamp(at: int) -> str:
    """Arrival as ISO 8601 in UTC, to the millisecond."""
    moment = START + timedelta(milliseconds=at)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _clock(at: int, form: str) -> str | int | float:
    milliseconds = int(START.timestamp()) * 1000 + at
    if form == "iso":
        return stamp(at)
    return milliseconds if form == "ms" else milliseconds / 1000


def _response(call: Call, form: str) -> Any:
    if form == "text":
        return call.reply["content"]
    if form == "message":
        return call.reply
    reason = "tool_calls" if call.reply.get("tool_calls") else "stop"
    return {
        "id": f"chatcmpl-{call.request_id}",
        "object": "chat.completion",
        "model": call.model,
        "choices": [{"index": 0, "message": call.reply, "finish_reason": reason}],
    }


def record(call: Call, style: Style, usage: dict[str, int] | None) -> dict[str, Any]:
    """The JSON object of one log line."""
    line: dict[str, Any] = {
        "request_id": call.request_id,
        "timestamp": _clock(call.at, style.clock),
        "latency_ms": call.latency,
        "ttft_ms": call.ttft,
        "model": call.model,
        "messages": list(call.messages),
    }
    if call.tools:
        line["tools"] = list(call.tools)
    line["metadata"] = {"session_id": call.session, "tenant": call.tenant, "app": call.app}
    line["response"] = _response(call, style.reply)
    if usage is not None:
        line["usage"] = usage
    return line


def log_lines(calls: list[Call], style: Style, count: Callable[[Call], dict[str, int]]) -> bytes:
    """The whole log, ordered by arrival; ``count`` gives the usage of a call."""
    ordered = sorted(calls, key=lambda call: (call.at, call.request_id))
    lines = (record(call, style, count(call) if style.usage else None) for call in ordered)
    return b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)
