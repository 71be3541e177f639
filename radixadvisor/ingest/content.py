"""Logged messages as plain records: tool calls, reasoning and tool results find their places."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from radixadvisor.records import CacheControl, Message, Part, ToolCall

from .drafts import plain_message
from .parts import REASONING, REDACTED, cache_control, identity, part_of, parts_of, placeholder
from .raw import (
    Fields,
    Raw,
    Unusable,
    array_of,
    embedded,
    first_byte,
    is_empty,
    is_null,
    json_text,
    label,
    object_of,
    parse,
    string,
)

__all__ = ["messages_of", "simple_message", "system_message"]

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def _call(raw: Raw) -> ToolCall:
    """A tool call: OpenAI's function and custom calls, Anthropic's ``tool_use``, or a bare name."""
    if first_byte(raw) != 0x7B:
        return ToolCall(None, "", json_text(raw))
    fields = parse(raw)
    inner = object_of(fields.get("function")) or object_of(fields.get("custom")) or fields
    arguments = next(
        (inner[key] for key in ("arguments", "input", "args", "parameters") if key in inner), None
    )
    identity = label(fields.get("id")) or label(fields.get("call_id"))
    written = "" if arguments is None or is_null(arguments) else string(arguments)
    return ToolCall(identity, label(inner.get("name")) or "", written)


def _calls(fields: Fields) -> tuple[ToolCall, ...]:
    calls = [_call(raw) for raw in array_of(fields.get("tool_calls")) or ()]
    if (legacy := embedded(fields.get("function_call"))) is not None:
        calls.append(_call(legacy))
    return tuple(calls)


def _marked(content: str | tuple[Part, ...] | None, mark: CacheControl) -> tuple[Part, ...]:
    """Content with a breakpoint at its end, which is what one on a whole message or call means."""
    if content is None or isinstance(content, str):
        return (Part("text", content or "", mark),)
    return (*content[:-1], replace(content[-1], cache_control=mark)) if content else (Part("text", "", mark),)


def _beside(fields: Fields) -> list[Part]:
    """What a message holds beside its content: a refusal, images of Ollama's form, spoken audio."""
    parts = []
    refusal = fields.get("refusal")
    if refusal is not None and first_byte(refusal) == 0x22:
        parts.append(Part("refusal", string(refusal)))
    for image in array_of(fields.get("images")) or ():
        parts.append(Part("image", placeholder("image", string(image).encode())))
    if (audio := object_of(fields.get("audio"))) is not None:
        parts.append(Part("audio", placeholder("audio", identity(audio, "audio"))))
    return parts


class _Turn:
    """Gathers the messages that one logged message becomes: tool results among its blocks are turns of
    their own.
    """

    def __init__(self, role: str, fields: Fields) -> None:
        self.role = role
        self.name = label(fields.get("name"))
        self.call_id = label(fields.get("tool_call_id"))
        self.calls = list(_calls(fields))
        spoken = (fields[key] for key in ("reasoning_content", "reasoning", "thinking") if key in fields)
        self.reasoning = [string(raw) for raw in spoken if first_byte(raw) == 0x22][:1]
        self.parts: list[Part] = []
        self.done: list[Message] = []

    def add(self, raw: Raw) -> None:
        """One content block."""
        fields = parse(raw) if first_byte(raw) == 0x7B else {}
        kind = label(fields.get("type"))
        if kind in _CALLS:
            self.calls.append(_call(raw))
            if (mark := cache_control(fields)) is not None:
                self.parts = list(_marked(tuple(self.parts), mark))
        elif kind == "tool_result":
            if self.parts:
                self.done.append(Message(self.role, tuple(self.parts), name=self.name))
                self.parts = []
            self.done.append(_result(fields))
        elif kind in REASONING:
            self.reasoning.append(part_of(raw).text)
        else:
            self.parts.append(part_of(raw))

    def messages(self, content: str | tuple[Part, ...] | None) -> tuple[Message, ...]:
        """Everything gathered; ``content`` is what the last message says if no part was added."""
        if self.done and not (self.parts or self.calls or self.reasoning):
            return tuple(self.done)
        body = tuple(self.parts) if self.parts else content
        reasoning = "\n".join(self.reasoning) or None
        last = Message(self.role, body, tuple(self.calls), self.call_id, self.name, reasoning)
        return (*self.done, last)


def _result(fields: Fields) -> Message:
    """A ``tool_result`` block as the turn of a tool."""
    raw = fields.get("content")
    content = string(raw) if raw is not None and first_byte(raw) == 0x22 else parts_of(raw)
    mark = cache_control(fields)
    call_id = label(fields.get("tool_use_id")) or label(fields.get("tool_call_id"))
    return Message("tool", content if mark is None else _marked(content, mark), tool_call_id=call_id)


def messages_of(raw: Raw, role: str | None = None) -> tuple[Message, ...]:
    """The messages that one logged message stands for: itself, unless it holds Anthropic's tool results.

    Args:
        raw: the JSON text of the message.
        role: the role of a message that names none; None if it must name one.

    Raises:
        Unusable: no object, no role, or its text was redacted by the logger.
    """
    if first_byte(raw) != 0x7B:
        raise Unusable("message is not an object")
    fields = parse(raw)
    named = fields.get("role")
    role = (string(named) if named is not None and first_byte(named) == 0x22 else "") or role
    if not role:
        raise Unusable("message without a role")
    turn = _Turn(role, fields)
    content = fields.get("content")
    body: str | tuple[Part, ...] | None = None
    if content is not None and not is_null(content):
        if first_byte(content) == 0x5B:
            blocks = array_of(content) or []
            for block in blocks:
                turn.add(block)
            body = None if blocks else ()
        elif first_byte(content) == 0x7B:
            turn.add(content)
        else:
            body = string(content)
            if body in REDACTED:
                raise Unusable("prompt text redacted")
    if beside := _beside(fields):
        if isinstance(body, str) and body:
            turn.parts.append(Part("text", body))
        turn.parts += beside
    found = turn.messages(body)
    if (mark := cache_control(fields)) is not None:
        found = (*found[:-1], replace(found[-1], content=_marked(found[-1].content, mark)))
    return found


class _Simple(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str


_SIMPLE = msgspec.json.Decoder(_Simple)


def simple_message(raw: Raw) -> tuple[Message] | None:
    """What ``messages_of`` gives for the commonest form, a role and a string and nothing else, in a tenth of
    its time; None for any other form.
    """
    try:
        found = _SIMPLE.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not found.role or found.content in REDACTED:
        return None
    return (plain_message(found.role, found.content),)


def system_message(raw: Raw) -> Message | None:
    """Anthropic's top-level ``system``, a string or blocks, as a leading message; None where it is empty."""
    if is_empty(raw):
        return None
    return Message("system", string(raw) if first_byte(raw) == 0x22 else parts_of(raw))
