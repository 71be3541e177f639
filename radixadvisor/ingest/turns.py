"""Messages in the forms of other APIs and frameworks, rewritten as chat messages.

Gemini's and OpenTelemetry's ``parts``, Bedrock's and the AI SDK's content blocks, LangChain's constructors,
the items of the Responses API, ShareGPT's ``from`` and ``value``. What is a chat message already stays as it
was logged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .raw import Fields, Raw, array_of, first_byte, is_empty, is_null, label, object_of, string
from .view import encode, is_true

__all__ = ["chat_turns", "one_turn", "role_of"]

_ROLES = {
    **dict.fromkeys(("human", "humanmessage", "humanmessagechunk"), "user"),
    **dict.fromkeys(("ai", "aimessage", "aimessagechunk", "model", "gpt", "chatgpt", "bot"), "assistant"),
    **dict.fromkeys(("bard", "bing", "claude"), "assistant"),
    **dict.fromkeys(("systemmessage",), "system"),
    **dict.fromkeys(("toolmessage", "functionmessage", "observation"), "tool"),
}
_KNOWN = ("system", "user", "assistant", "tool", "developer", "function")
_CALLS = ("functionCall", "function_call", "toolUse", "tool_use")
_RESULTS = ("functionResponse", "function_response", "toolResult", "tool_result")
_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_THOUGHTS = ("thinking", "reasoning", "reasoningContent", "reasoning_content")
_CALL_TYPES = ("tool_call", "tool-call", "tool_use", "toolUse", "function_call", "server_tool_use")
_RESULT_TYPES = ("tool_call_response", "tool-result", "tool_result", "function_result")
_ITEM_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "mcp_call", "web_search_call")
_ITEM_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def role_of(name: str | None) -> str:
    """A role under its usual name."""
    return _ROLES.get((name or "").lower(), name or "user")


def _first(fields: Fields, *keys: str) -> Raw | None:
    return next((fields[key] for key in keys if not is_null(fields.get(key))), None)


def _text(raw: Raw | None) -> str:
    """A value as text: a string as it is, the text of parts, anything else as its JSON."""
    if raw is None or is_null(raw):
        return ""
    parts = array_of(raw) if first_byte(raw) == 0x5B else None
    if parts is not None and all("text" in (object_of(part) or {}) for part in parts):
        return "\n".join(string((object_of(part) or {})["text"]) for part in parts)
    return string(raw)


def _call(fields: Fields) -> dict[str, Any]:
    named = object_of(_first(fields, "function")) or fields
    arguments = _first(named, "arguments", "args", "input", "parameters", "action")
    return {
        "id": label(_first(fields, "id", "call_id", "toolUseId", "toolCallId", "tool_call_id")),
        "type": "function",
        "function": {
            "name": label(_first(named, "name", "toolName")) or "",
            "arguments": "" if arguments is None else string(arguments),
        },
    }


class _Turn:
    """Gathers what one message holds."""

    def __init__(self, role: str, name: str | None = None, call_id: str | None = None) -> None:
        self.role, self.name, self.call_id = role, name, call_id
        self.parts: list[Any] = []
        self.calls: list[Any] = []
        self.thoughts: list[str] = []
        self.done: list[Raw] = []

    def add(self, raw: Raw) -> None:
        """One part of the content."""
        fields = object_of(raw) if first_byte(raw) == 0x7B else None
        if fields is None:
            self.parts.append({"type": "text", "text": string(raw)})
            return
        kind = label(fields.get("type")) or ""
        inner = next((fields[key] for key in (*_CALLS, *_RESULTS) if key in fields), None)
        body = object_of(inner) or fields
        if kind in _CALL_TYPES or any(key in fields for key in _CALLS):
            self.calls.append(_call(body))
        elif kind in _RESULT_TYPES or any(key in fields for key in _RESULTS):
            self._result(body)
        elif "cachePoint" in fields:
            if self.parts and isinstance(self.parts[-1], dict):
                self.parts[-1]["cache_control"] = {"type": "ephemeral"}
        elif kind in _THOUGHTS or "reasoningContent" in fields or is_true(fields.get("thought")):
            inside = object_of(_first(fields, "reasoningContent", "content", "text")) or fields
            inside = object_of(inside.get("reasoningText")) or inside
            self.thoughts.append(_text(_first(inside, "text", "thinking", "content", "reasoning")))
        elif kind in ("text", "input_text", "output_text", "") and "text" in fields:
            self._say(fields, fields["text"])
        elif kind == "text" and "content" in fields:
            self._say(fields, fields["content"])
        elif any(key in fields for key in _MEDIA):
            data = object_of(next(fields[key] for key in _MEDIA if key in fields)) or {}
            mime = (label(_first(data, "mimeType", "mime_type")) or "image").partition("/")[0]
            held = _first(data, "data", "fileUri", "file_uri") or raw
            medium = mime if mime in ("image", "audio", "video") else "file"
            self.parts.append({"type": medium, medium: {"data": held}})
        else:
            self.parts.append(raw)

    def _say(self, fields: Fields, text: Raw) -> None:
        part: dict[str, Any] = {"type": "text", "text": _text(text)}
        for key in ("cache_control", "prompt_cache_breakpoint"):
            if key in fields:
                part[key] = fields[key]
        self.parts.append(part)

    def _result(self, fields: Fields) -> None:
        self._flush()
        held = _first(fields, "content", "response", "result", "output")
        call = label(
            _first(fields, "toolUseId", "tool_use_id", "id", "toolCallId", "tool_call_id", "call_id", "name")
        )
        self.done.append(encode({"role": "tool", "tool_call_id": call, "content": _text(held)}))

    def _flush(self) -> None:
        if self.parts or self.calls or self.thoughts:
            self.done.append(self._message())
            self.parts, self.calls, self.thoughts = [], [], []

    def _message(self) -> Raw:
        single = self.parts[0] if len(self.parts) == 1 else None
        alone = isinstance(single, dict) and list(single) == ["type", "text"]
        content = single["text"] if single and alone else self.parts or None
        message: dict[str, Any] = {"role": self.role, "content": content}
        if self.thoughts:
            message["reasoning_content"] = "\n".join(self.thoughts)
        if self.calls:
            message["tool_calls"] = self.calls
        if self.call_id:
            message["tool_call_id"] = self.call_id
        if self.name:
            message["name"] = self.name
        return encode(message)

    def turns(self) -> list[Raw]:
        if not self.done or self.parts or self.calls or self.thoughts:
            self.done.append(self._message())
        return self.done


def _lang_chain(fields: Fields) -> tuple[str, Fields] | None:
    """The class and the arguments of a LangChain message, however it was written out."""
    if "kwargs" in fields and not is_empty(fields.get("id")):
        name = (array_of(fields["id"]) or [Raw(b'"user"')])[-1]
        return label(name) or "user", object_of(fields["kwargs"]) or {}
    kind = label(fields.get("type"))
    if "role" not in fields and kind is not None and kind.lower() in (*_ROLES, *_KNOWN):
        return kind, object_of(fields.get("data")) or fields
    return None


def _foreign(part: Raw) -> bool:
    fields = object_of(part) if first_byte(part) == 0x7B else None
    if fields is None:
        return False
    kind = label(fields.get("type"))
    own = ("tool-call", "tool-result", "tool_call", "tool_call_response", "reasoning")
    return kind in own or (kind is None and bool(fields)) or (kind == "text" and "text" not in fields)


def one_turn(raw: Raw) -> list[Raw]:
    """The chat messages that one logged message or item stands for."""
    if first_byte(raw) == 0x22:
        return [encode({"role": "user", "content": string(raw)})]
    if (pair := array_of(raw)) is not None and len(pair) == 2 and all(first_byte(x) == 0x22 for x in pair):
        return [encode({"role": role_of(string(pair[0])), "content": string(pair[1])})]
    fields = object_of(raw)
    if fields is None:
        return [raw]
    if (message := object_of(fields.get("message"))) and "role" not in fields and "content" not in fields:
        return one_turn(encode(message))
    if (known := _lang_chain(fields)) is not None:
        name, inner = known
        extra = object_of(inner.get("additional_kwargs")) or {}
        calls = inner.get("tool_calls", extra.get("tool_calls"))
        kept = {**inner, **({"tool_calls": calls} if not is_empty(calls) else {})}
        return one_turn(encode({**kept, "role": role_of(name), "type": None}))
    kind = label(fields.get("type"))
    if kind in _ITEM_CALLS or kind in _ITEM_RESULTS or kind == "reasoning" or "from" in fields:
        return _item(kind, fields)
    role = role_of(label(fields.get("role")))
    content = fields.get("parts", fields.get("content"))
    blocks = array_of(content) if content is not None and first_byte(content) == 0x5B else None
    if "parts" not in fields and not any(map(_foreign, blocks or ())):
        same = role == label(fields.get("role"))
        listed = array_of(fields.get("tool_calls")) or ()
        if same and not any("args" in (object_of(call) or {}) for call in listed):
            return [raw]
    turn = _Turn(role, label(fields.get("name")), label(fields.get("tool_call_id")))
    for block in blocks if blocks is not None else [] if is_null(content) else [content or encode("")]:
        turn.add(block)
    turn.calls += [_call(object_of(call) or {}) for call in array_of(fields.get("tool_calls")) or ()]
    return turn.turns()


def _item(kind: str | None, fields: Fields) -> list[Raw]:
    """An item of the Responses API, or a turn of ShareGPT."""
    if kind in _ITEM_CALLS:
        return [encode({"role": "assistant", "content": None, "tool_calls": [_call(fields)]})]
    if kind in _ITEM_RESULTS:
        call = label(fields.get("call_id"))
        return [encode({"role": "tool", "tool_call_id": call, "content": _text(fields.get("output"))})]
    if kind == "reasoning" and "role" not in fields:
        said = _text(fields.get("content")) or _text(fields.get("summary"))
        return [encode({"role": "assistant", "content": None, "reasoning_content": said})]
    return [encode({"role": role_of(label(fields.get("from"))), "content": _text(fields.get("value"))})]


def _is_item(raw: Raw) -> bool:
    kind = label((object_of(raw) or {}).get("type")) if first_byte(raw) == 0x7B else None
    return kind in _ITEM_CALLS or kind in ("reasoning", "message")


def chat_turns(raws: Iterable[Raw]) -> list[Raw]:
    """Logged messages or items as chat messages; the items of one answer become one message."""
    found: list[Raw] = []
    merging = False
    for raw in raws:
        turns = one_turn(raw)
        fields = object_of(turns[-1]) if len(turns) == 1 and _is_item(raw) else None
        item = fields is not None and label(fields.get("role")) == "assistant"
        if item and merging and fields is not None:
            found[-1] = _merged(object_of(found[-1]) or {}, fields)
        else:
            found += turns
        merging = item
    return found


def _merged(first: Fields, second: Fields) -> Raw:
    both: dict[str, Any] = dict(first)
    for key in ("content", "tool_calls", "reasoning_content"):
        one, two = first.get(key), second.get(key)
        if is_empty(one):
            both[key] = two
        elif not is_empty(two):
            left, right = array_of(one), array_of(two)
            if left is not None and right is not None:
                both[key] = [*left, *right]
            else:
                both[key] = f"{_text(one)}\n{_text(two)}"
    return encode({key: value for key, value in both.items() if key == "content" or value is not None})
