"""Spans of OpenTelemetry and OpenInference: their attributes in any layout, and the call that they tell of.

Attributes come as OTLP's arrays of keys and typed values, as objects with dotted keys, nested, or as columns
of a table. Lists come as arrays, or flattened under indexed keys, which sort as numbers.
"""

from __future__ import annotations

from typing import Any

from .foreign import merged_answer, system_turn, tools_in
from .raw import Fields, Raw, array_of, embedded, first_byte, is_empty, is_null, label, object_of, string
from .turns import chat_turns
from .view import counts, encode, joined

__all__ = ["Attributes", "attributes_in", "attributes_of", "facts_of", "prompt_of", "response_of"]

Attributes = Fields

_DEEPEST = 12


def _plain(raw: Raw | None, depth: int = 0) -> Any:
    """A typed value of OTLP as what it stands for."""
    fields = object_of(raw) or {}
    if depth > _DEEPEST or raw is None:
        return None
    for key, value in fields.items():
        if key in ("stringValue", "string_value", "doubleValue", "boolValue", "bytesValue", "double_value"):
            return value
        if key in ("intValue", "int_value"):
            return Raw((label(value) or "null").encode())
        inner = object_of(value) or {}
        if key in ("arrayValue", "array_value"):
            return [_plain(each, depth + 1) for each in array_of(inner.get("values")) or ()]
        if key in ("kvlistValue", "kvlist_value"):
            return _pairs(array_of(inner.get("values")) or [], depth + 1)
    return None


def _pairs(listed: list[Raw], depth: int = 0) -> dict[str, Any]:
    pairs = (object_of(each) or {} for each in listed)
    return {label(pair.get("key")) or "": _plain(pair.get("value"), depth) for pair in pairs}


def _flat(fields: Fields, prefix: str, found: Fields, depth: int = 0) -> Fields:
    for key, raw in fields.items():
        name = f"{prefix}{key}"
        inner = object_of(raw) if depth < _DEEPEST and first_byte(raw) == 0x7B else None
        if inner:
            _flat(inner, f"{name}.", found, depth + 1)
        elif not is_null(raw):
            found.setdefault(name, raw)
    return found


def attributes_in(raw: Raw | None) -> Attributes:
    """Attributes under dotted keys, whatever their layout; values stay JSON."""
    listed = array_of(raw) if raw is not None else None
    if listed is not None:
        return _flat(object_of(encode(_pairs(listed))) or {}, "", {})
    return _flat(object_of(raw) or {}, "", {})


def attributes_of(span: Fields) -> Attributes:
    """The attributes of a span, also of one whose keys are the columns of a table."""
    found = attributes_in(span.get("attributes"))
    for key, raw in span.items():
        if key.startswith("attributes.") and not is_null(raw):
            name = key.removeprefix("attributes.")
            inner = object_of(raw) if first_byte(raw) == 0x7B else None
            if inner:
                _flat(inner, f"{name}.", found)
            else:
                found.setdefault(name, raw)
        elif key.startswith(("gen_ai.", "llm.", "openinference.")) and not is_null(raw):
            found.setdefault(key, raw)
    return found


def listed_at(fields: Attributes, name: str) -> list[Fields]:
    """The elements of a list of objects, each with dotted keys."""
    raw = fields.get(name)
    if raw is not None and (listed := array_of(raw)) is not None:
        return [_flat(object_of(each) or {}, "", {}) for each in listed]
    groups: dict[int, Fields] = {}
    for key, value in fields.items():
        if key.startswith(f"{name}."):
            number, _, rest = key[len(name) + 1 :].partition(".")
            if number.isdigit() and len(number) < 10:
                groups.setdefault(int(number), {})[rest] = value
    return [groups[number] for number in sorted(groups)]


def _without(fields: Fields, prefix: str) -> Fields:
    return {key.removeprefix(prefix): value for key, value in fields.items()}


def _first(fields: Fields, *names: str) -> Raw | None:
    return next((fields[name] for name in names if not is_null(fields.get(name))), None)


def _call(fields: Fields) -> dict[str, Any]:
    call = _without(fields, "tool_call.")
    arguments = _first(call, "function.arguments", "arguments")
    return {
        "id": label(_first(call, "id")),
        "type": "function",
        "function": {
            "name": label(_first(call, "function.name", "name")) or "",
            "arguments": "" if arguments is None else string(arguments),
        },
    }


def _message(fields: Fields) -> Raw:
    """A message of OpenInference or of the first OpenTelemetry conventions as a chat message."""
    held = _without(fields, "message.")
    content: Any = held.get("content")
    parts = []
    for part in listed_at(held, "contents"):
        inner = _without(part, "message_content.")
        kind = label(inner.get("type")) or "text"
        url = _first(inner, "image.image.url", "image.url", "image")
        source = inner.get("text") if kind == "text" else url
        parts.append({"type": kind, "text" if kind == "text" else kind: source})
    if parts:
        content = [*([{"type": "text", "text": content}] if content is not None else []), *parts]
    elif isinstance(content, Raw) and embedded(content) is not None and first_byte(content) == 0x22:
        blocks = array_of(content)
        content = blocks if blocks and all("type" in (object_of(each) or {}) for each in blocks) else content
    message: dict[str, Any] = {"role": label(held.get("role")) or "user", "content": content}
    if calls := [_call(each) for each in listed_at(held, "tool_calls")]:
        message["tool_calls"] = calls
    elif (name := _first(held, "function_call_name", "function_call.name")) is not None:
        arguments = _first(held, "function_call_arguments_json", "function_call.arguments")
        message["tool_calls"] = [_call({"name": name, **({"arguments": arguments} if arguments else {})})]
    for key in ("tool_call_id", "name"):
        if (value := label(held.get(key))) is not None:
            message[key] = value
    return encode(message)


def prompt_of(span: Attributes) -> Fields | None:
    """The request that a span's attributes keep, as a body; None where they keep none."""
    body: Fields = {}
    given = _first(span, "gen_ai.input.messages", "gen_ai.prompt", "gen_ai.request.messages")
    if given is not None and (listed := array_of(given)):
        body["messages"] = encode(chat_turns(listed))
    elif given is not None and not is_empty(given):
        return {"prompt": given}
    else:
        for name in ("llm.input_messages", "gen_ai.prompt"):
            if turns := listed_at(span, name):
                body["messages"] = encode(chat_turns([_message(turn) for turn in turns]))
                break
    leading = system_turn(span.get("gen_ai.system_instructions"))
    if "messages" in body:
        if leading:
            body["messages"] = encode([*leading, *(array_of(body["messages"]) or ())])
    elif prompts := listed_at(span, "llm.prompts"):
        return {"prompt": encode([_first(each, "prompt.text", "text") for each in prompts])}
    else:
        value = span.get("input.value")
        return None if value is None or is_empty(value) else {"input": value}
    if (tools := _tools(span)) is not None:
        body["tools"] = tools
    return body


def _tools(span: Attributes) -> Raw | None:
    named = _first(span, "gen_ai.tool.definitions", "gen_ai.request.tools")
    if named is not None and (found := tools_in(named)) is not None:
        return found
    listed = [_first(_without(each, "tool."), "json_schema", "") for each in listed_at(span, "llm.tools")]
    if schemas := [embedded(each) or each for each in listed if each is not None]:
        return encode(schemas)
    functions = listed_at(span, "llm.request.functions")
    return encode([{"type": "function", "function": each} for each in functions]) if functions else None


def response_of(span: Attributes) -> Raw | None:
    """What a span's attributes keep of the answer."""
    given = span.get("gen_ai.output.messages")
    if given is not None and (listed := array_of(given)):
        return merged_answer(listed)
    for name in ("llm.output_messages", "gen_ai.completion"):
        if turns := listed_at(span, name):
            return _message({"role": encode("assistant"), **turns[0]})
    return _first(span, "gen_ai.completion", "output.value")


def facts_of(span: Attributes) -> Fields:
    """What a span's attributes say about the call."""

    def count(*names: str) -> int | None:
        value = label(_first(span, *names))
        return int(value) if value is not None and value.isdigit() and len(value) < 16 else None

    usage = counts(
        count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        count(
            *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
            *("llm.token_count.prompt_details.cache_read", "llm.token_count.cache_read"),
            *("gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.input_tokens.cached"),
        ),
        count(
            *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
            *("llm.token_count.prompt_details.cache_write", "llm.token_count.cache_write"),
        ),
    )
    return joined(
        ("request_id", _first(span, "gen_ai.response.id", "llm.response.id")),
        ("model", _first(span, "gen_ai.request.model", "llm.model_name", "gen_ai.response.model")),
        ("session_id", _first(span, "gen_ai.conversation.id", "session.id", "langfuse.session.id")),
        ("user", _first(span, "user.id", "enduser.id", "langfuse.user.id")),
        (
            "ttft_s",
            _first(span, "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"),
        ),
        ("error", _first(span, "error.type")),
        ("usage", usage),
    )
