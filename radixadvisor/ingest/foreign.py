"""Request bodies and responses of other APIs as those of a chat completion."""

from __future__ import annotations

from collections.abc import Sequence

from .dialect import NO_PROMPT
from .parts import REDACTED
from .raw import (
    Fields,
    Raw,
    Unusable,
    array_of,
    embedded,
    first_byte,
    is_empty,
    is_null,
    label,
    object_of,
    string,
)
from .turns import chat_turns
from .view import encode

__all__ = ["chat_answer", "chat_body", "merged_answer", "system_turn", "tools_in"]

_TEXTS = ("prompt", "inputText", "input_text", "text", "inputs", "query", "question", "input")
_SYSTEMS = ("system", "systemInstruction", "system_instruction", "instructions", "system_instructions")
_DEEPEST = 4


def system_turn(raw: Raw | None) -> list[Raw]:
    """A system prompt of any form (text, blocks, Gemini's parts) as a leading message."""
    if raw is None or is_empty(raw):
        return []
    inner = embedded(raw)
    held = raw if inner is None else inner
    fields = object_of(held) if first_byte(held) == 0x7B else None
    if fields is not None:
        held = fields.get("parts", fields.get("content", fields.get("text", held)))
    if first_byte(held) == 0x5B and all("role" in (object_of(each) or {}) for each in array_of(held) or ()):
        return chat_turns(array_of(held) or ())
    return chat_turns([encode({"role": "system", "content": held})])


def tools_in(raw: Raw | None) -> Raw | None:
    """Tool definitions, those that Gemini and Bedrock nest laid out one by one."""
    listed = array_of(raw)
    if listed is None:
        return raw if raw is None or object_of(raw) is None else tools_in((object_of(raw) or {}).get("tools"))
    found: list[Raw] = []
    for tool in listed:
        fields = object_of(tool) or {}
        declared = array_of(fields.get("functionDeclarations", fields.get("function_declarations")))
        spec = fields.get("toolSpec", fields.get("json_schema"))
        if declared is not None:
            found += declared
        elif spec is not None and object_of(spec) is not None:
            found.append(embedded(spec) or spec)
        elif not (set(fields) & {"cachePoint"}):
            found.append(embedded(tool) or tool)
    return encode(found) if found else None


def _listed(raw: Raw) -> Sequence[Raw]:
    """The messages of a list, also of one that LangChain nests in a list of prompts."""
    elements = array_of(raw)
    if elements is None:
        return [embedded(raw) or raw]
    if elements and first_byte(elements[0]) == 0x5B and object_of((array_of(elements[0]) or [raw])[0]):
        return array_of(elements[0]) or []
    return elements


def chat_body(raw: Raw | None, depth: int = 0) -> Fields:
    """A request of any known form, also one encoded into a string, as a body with messages or a prompt.

    Raises:
        Unusable: it holds no prompt.
    """
    if raw is None or is_empty(raw):
        raise Unusable(NO_PROMPT)
    inner = embedded(raw)
    if inner is None:
        if first_byte(raw) != 0x22:
            raise Unusable("prompt of an unknown form")
        if string(raw) in REDACTED:
            raise Unusable("prompt text redacted")
        return {"prompt": raw}
    fields = object_of(inner) if first_byte(inner) == 0x7B else None
    if fields is None:
        if all(first_byte(each) in b'"-0123456789' for each in array_of(inner) or ()):
            return {"prompt": inner}
        return _conversation(_listed(inner))
    config = object_of(fields.get("config")) or {}
    tools = tools_in(fields.get("tools", fields.get("toolConfig", config.get("tools"))))
    kept = {key: value for key, value in fields.items() if key not in _SYSTEMS and key != "tools"}
    if tools is not None:
        kept["tools"] = tools
    leading = [turn for key in _SYSTEMS for turn in system_turn(fields.get(key, config.get(key)))]
    for key in ("messages", "contents"):
        if not is_null(fields.get(key)):
            value = fields[key]
            if first_byte(value) == 0x22 and embedded(value) is None and string(value) in REDACTED:
                raise Unusable("prompt text redacted")
            return {**kept, "messages": encode([*leading, *chat_turns(_listed(value))])}
    if "role" in fields or is_alone(fields):
        role = {} if "role" in fields else {"role": encode("user")}
        return {"messages": encode(chat_turns([encode({**fields, **role})]))}
    return _prompt(fields, kept, leading, depth)


def _conversation(listed: Sequence[Raw]) -> Fields:
    """Messages, among which LangChain's tracer also lists the tools."""
    definitions, spoken = [], []
    for raw in listed:
        fields = object_of(raw) if first_byte(raw) == 0x7B else None
        content = object_of(fields.get("content")) if fields and "tool_call_id" not in fields else None
        if content and label(content.get("type")) == "function" and "function" in content:
            definitions.append(embedded(fields["content"]) if fields else None)
        else:
            spoken.append(raw)
    found: Fields = {"messages": encode(chat_turns(spoken))}
    return {**found, "tools": encode(definitions)} if definitions else found


def is_alone(fields: Fields) -> bool:
    """Whether an object is a message that names no role."""
    return not is_null(fields.get("content", fields.get("parts"))) and len(fields) <= 2


def _prompt(fields: Fields, kept: Fields, leading: list[Raw], depth: int) -> Fields:
    """A body that holds text, items, or another body."""
    for key in ("kwargs", "args", "payload", "request", "body"):
        inner = fields.get(key)
        if depth < _DEEPEST and inner is not None and not is_empty(inner) and embedded(inner) is not None:
            elements = array_of(inner)
            return chat_body(inner if elements is None or len(elements) != 1 else elements[0], depth + 1)
    for key in _TEXTS:
        value = fields.get(key)
        if value is None or is_null(value):
            continue
        inner = embedded(value)
        below = {name: one for name, one in kept.items() if name != key}
        if inner is not None and depth < _DEEPEST:
            found = chat_body(inner, depth + 1)
            if leading and "messages" in found:
                found["messages"] = encode([*leading, *(array_of(found["messages"]) or ())])
            return {**below, **found}
        if leading:
            return {**below, "messages": encode([*leading, *chat_turns([value])])}
        return {**below, **chat_body(value, depth + 1)} if key != "prompt" else {**below, "prompt": value}
    raise Unusable(NO_PROMPT)


def merged_answer(raws: Sequence[Raw]) -> Raw | None:
    """Output messages or items as the one message of the assistant."""
    turns = [turn for turn in chat_turns(raws) if label((object_of(turn) or {}).get("role")) != "tool"]
    return turns[0] if turns else None


def _completion(message: Raw | None, fields: Fields, reason: str | None) -> Raw:
    kept = {key: fields[key] for key in ("id", "created", "created_at", "model", "usage") if key in fields}
    choices = [] if message is None else [{"message": message, "finish_reason": reason}]
    return encode({**kept, "choices": choices})


def chat_answer(raw: Raw | None, depth: int = 0) -> Raw | None:
    """A response of any known form as one that ``responses.read_answer`` knows; None if it says nothing."""
    if raw is None or is_empty(raw):
        return None
    inner = embedded(raw)
    if inner is None:
        return raw
    elements = array_of(inner) if first_byte(inner) == 0x5B else None
    if elements is not None:
        if elements and first_byte(elements[0]) == 0x5B and depth < _DEEPEST:
            return chat_answer(elements[0], depth + 1)
        if any(set(object_of(each) or {}) & {"role", "parts", "type"} for each in elements):
            return merged_answer(elements)
        if all("toolName" in (object_of(each) or {}) for each in elements):
            calls = [{**(object_of(each) or {}), "type": "tool-call"} for each in elements]
            return merged_answer([encode({"role": "assistant", "content": calls})])
        if len(elements) == 1 and depth < _DEEPEST:
            return chat_answer(elements[0], depth + 1)
        return raw
    fields = object_of(inner) or {}
    if "choices" in fields:
        return inner
    for key in ("candidates", "generations", "results"):
        listed = array_of(fields.get(key))
        if listed and depth < _DEEPEST:
            answer = chat_answer(listed[0], depth + 1)
            return _completion(_message(answer), fields, None)
    output = fields.get("output")
    if output is not None and first_byte(output) == 0x5B:
        status = label(fields.get("status"))
        cut = "length" if status == "incomplete" else None
        return _completion(merged_answer(array_of(output) or ()), fields, cut)
    for key in ("output", "message", "content", "kwargs"):
        below = object_of(fields.get(key)) if first_byte(fields.get(key, Raw())) == 0x7B else None
        if below is not None and depth < _DEEPEST:
            reason = label(fields.get("stopReason", fields.get("finish_reason")))
            return _completion(_message(chat_answer(encode(below), depth + 1)), fields, reason)
    if "outputText" in fields:
        return fields["outputText"]
    if set(fields) & {"role", "parts", "kwargs"} or first_byte(fields.get("content", Raw())) == 0x5B:
        turns = chat_turns([inner if "role" in fields else encode({**fields, "role": "assistant"})])
        return turns[0] if turns else None
    counted = set(fields) & {"usageMetadata", "usage_metadata"}
    return None if counted and not set(fields) & {"content", "text", "tool_calls"} else inner


def _message(answer: Raw | None) -> Raw | None:
    """The message of an answer; bare text becomes the assistant's."""
    if answer is None:
        return None
    fields = object_of(answer) if first_byte(answer) == 0x7B else None
    if fields is None:
        return encode({"role": "assistant", "content": answer}) if first_byte(answer) == 0x22 else None
    choices = array_of(fields.get("choices"))
    if choices is not None:
        return (object_of(choices[0]) or {}).get("message") if choices else None
    if "text" in fields and "role" not in fields:
        return encode({"role": "assistant", "content": fields["text"]})
    return answer
