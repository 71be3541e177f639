"""Message content in the forms that OpenAI's and Anthropic's APIs define, as plain records.

Nothing is dropped: a part of an unknown type keeps its text, or leaves a placeholder with its hash.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import xxhash

from radixadvisor.records import CacheControl, Message, Part, ToolCall

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

__all__ = ["cache_control", "messages_of", "placeholder", "simple_message", "system_message"]

_REDACTED = ("redacted-by-litellm", "__REDACTED__")
_TEXT = ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text")
_REASONING = ("thinking", "reasoning", "redacted_thinking", "reasoning_content")
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_MEDIA = {
    "image": ("image", "image_url", "input_image", "image_file", "media"),
    "audio": ("audio", "audio_url", "input_audio", "output_audio"),
    "video": ("video", "video_url", "input_video"),
    "file": ("file", "input_file", "file_url", "container_upload"),
    "document": ("document",),
}
_MEDIUM = {name: medium for medium, names in _MEDIA.items() for name in names}
# The keys that lead to what identifies a medium, the most telling first.
_SOURCES = ("url", "data", "file_data", "file_id", "id", "base64", "bytes")


def placeholder(medium: str, source: bytes) -> str:
    """What stands for data that is no text: ``<image:0123456789abcdef>``, equal for equal sources."""
    return f"<{medium}:{xxhash.xxh3_64_hexdigest(source)}>"


def cache_control(fields: Fields) -> CacheControl | None:
    """The explicit cache breakpoint on a block, a message or a tool."""
    raw = fields.get("cache_control", fields.get("prompt_cache_breakpoint"))
    if is_empty(raw):
        return None
    inner = object_of(raw)
    return CacheControl(label(inner.get("ttl")) if inner else None)


def _identity(fields: Fields, medium: str) -> bytes:
    """The bytes that tell one medium's data from another's: its URL, data or id, else all that is logged."""
    for key in (medium, f"{medium}_url", f"input_{medium}", f"output_{medium}", "source", medium + "_file"):
        raw = fields.get(key)
        if raw is None or is_null(raw):
            continue
        if (inner := object_of(raw)) is not None:
            return _identity(inner, medium)
        return string(raw).encode()
    for key in _SOURCES:
        raw = fields.get(key)
        if raw is not None and not is_null(raw):
            return string(raw).encode()
    kept = {key: raw for key, raw in fields.items() if key not in ("type", "cache_control")}
    return b"\0".join(key.encode() + b"\0" + bytes(raw) for key, raw in sorted(kept.items()))


def _document(fields: Fields) -> str | None:
    """The text of a document block that carries text, else None."""
    source = object_of(fields.get("source"))
    if source is None:
        return None
    if label(source.get("type")) == "text" and "data" in source:
        return string(source["data"])
    if label(source.get("type")) == "content":
        return "\n".join(part.text for part in _parts(source.get("content")))
    return None


def _part(raw: Raw) -> Part:
    """One part of a content list."""
    if first_byte(raw) != 0x7B:
        return Part("text", string(raw))
    fields = parse(raw)
    mark = cache_control(fields)
    kind = label(fields.get("type")) or next((name for name in fields if name in _MEDIUM), "text")
    if kind in _MEDIUM:
        medium = _MEDIUM[kind]
        text = _document(fields) if medium == "document" else None
        return Part(medium, placeholder(medium, _identity(fields, medium)) if text is None else text, mark)
    for key in ("text", kind, "content"):
        value = fields.get(key)
        if value is None or is_null(value):
            continue
        if first_byte(value) == 0x22:
            return Part("text" if kind in _TEXT else kind, string(value), mark)
        if (parts := array_of(value)) is not None:
            return Part(kind, "\n".join(_part(part).text for part in parts), mark)
    if kind == "text":
        return Part("text", json_text(raw) if "text" not in fields else "", mark)
    return Part(kind, placeholder(kind, bytes(raw)), mark)


def _parts(raw: Raw | None) -> tuple[Part, ...]:
    """Content of any form as parts: a string is one part, null none."""
    if raw is None or is_null(raw):
        return ()
    if first_byte(raw) == 0x5B:
        return tuple(_part(part) for part in array_of(raw) or ())
    return (_part(raw),)


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
        parts.append(Part("audio", placeholder("audio", _identity(audio, "audio"))))
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
        elif kind in _REASONING:
            self.reasoning.append(_part(raw).text)
        else:
            self.parts.append(_part(raw))

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
    content = string(raw) if raw is not None and first_byte(raw) == 0x22 else _parts(raw)
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
            if body in _REDACTED:
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
    if not found.role or found.content in _REDACTED:
        return None
    return (Message(found.role, found.content),)


def system_message(raw: Raw) -> Message | None:
    """Anthropic's top-level ``system``, a string or blocks, as a leading message; None where it is empty."""
    if is_empty(raw):
        return None
    return Message("system", string(raw) if first_byte(raw) == 0x22 else _parts(raw))
