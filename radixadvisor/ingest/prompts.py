"""What goes into the model: messages, text or token ids, with the tools and parameters beside them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from radixadvisor.records import Message, ToolSet

from .intern import Interner
from .locate import TEXTS, TOKENS, Call, is_conversation
from .names import NAMESPACES, shape
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
from .responses import token_bytes

__all__ = ["Prompt", "parameters_of", "prompts_of", "tools_of"]


class Prompt(NamedTuple):
    """One of its fields is set."""

    messages: tuple[Message, ...] | None = None
    text: str | None = None
    tokens: bytes | None = None


def _messages(body: Fields, interner: Interner) -> tuple[Message, ...] | str:
    """The messages of a body, or its text where a logger kept a bare prompt under ``messages``."""
    raw = body["messages"]
    listed = array_of(raw)
    if listed is None:
        if first_byte(raw) == 0x22 and embedded(raw) is None:
            text = string(raw)
            if text in REDACTED:
                raise Unusable("prompt text redacted")
            return text
        single = object_of(raw)
        if single is None:
            raise Unusable("no messages", "messages is neither a list nor text")
        inner = array_of(single.get("messages"))
        listed = inner if inner is not None else [embedded(raw) or raw]
    if not listed:
        raise Unusable("no messages", "the list is empty")
    messages = interner.messages(listed)
    system = interner.system(body["system"]) if "system" in body else None
    return messages if system is None else (system, *messages)


def prompts_of(body: Fields, interner: Interner) -> list[Prompt]:
    """The prompts of a body: one, or several where a completion call holds a list of prompts."""
    if not is_null(body.get("messages")):
        messages = _messages(body, interner)
        return [Prompt(text=messages) if isinstance(messages, str) else Prompt(messages)]
    for name in (*TOKENS, *TEXTS):
        raw = body.get(name)
        if raw is None or is_null(raw):
            continue
        if first_byte(raw) == 0x22 and name in TEXTS:
            text = string(raw)
            if text in REDACTED:
                raise Unusable("prompt text redacted")
            return [_framed(text, body, interner)]
        elements = array_of(raw)
        if not elements:
            continue
        if (tokens := token_bytes(raw)) is not None:
            return [Prompt(tokens=tokens)]
        if is_conversation(raw):
            return [Prompt(interner.messages(elements))]
        return [_one_of(element) for element in elements]
    raise Unusable("no messages")


def _turn(text: str) -> Raw:
    return Raw(msgspec.json.encode({"role": "user", "content": text}))


def _framed(text: str, body: Fields, interner: Interner) -> Prompt:
    """A text prompt; with a system prompt beside it, the two turns that its engine makes of them."""
    for name in ("system", "system_prompt"):
        system = interner.system(body[name]) if name in body else None
        if system is not None:
            return Prompt(messages=(system, *interner.messages([_turn(text)])))
    return Prompt(text=text)


def _one_of(raw: Raw) -> Prompt:
    if first_byte(raw) == 0x22:
        return Prompt(text=string(raw))
    tokens = token_bytes(raw)
    if tokens is None:
        raise Unusable("prompt of an unknown form")
    return Prompt(tokens=tokens)


def tools_of(call: Call, interner: Interner) -> ToolSet | None:
    """Tool definitions, wherever a record keeps them: in the body, in its parameters, or around it."""
    sources = [call.body, *call.around]
    for source in sources:
        for name in ("tools", "functions"):
            if (tools := interner.tools(source.get(name))) is not None:
                return tools
        sources += [below for key in shape(source).extras if (below := object_of(source[key]))]
    return None


def parameters_of(call: Call, interner: Interner) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """What enters the prompt or the cache key, and what splits the cache by itself."""
    kept: dict[str, Raw] = {}
    spaces: dict[str, str] = {}
    sources = [*call.around, call.body]
    for source in sources:
        known = shape(source)
        sources += [below for key in known.extras if (below := object_of(source[key]))]
        for key in known.parameters:
            value = source[key]
            # Under these two names records also keep what a model thought, which is no parameter.
            if not is_null(value) and not (key in ("reasoning", "thinking") and first_byte(value) == 0x22):
                kept[key] = value
        for key in known.namespaces:
            value = source[key]
            if not is_empty(value):
                inner = object_of(value)
                named = label(inner.get("lora_name", inner.get("name"))) if inner else None
                spaces[NAMESPACES[key]] = named or string(value)
    return interner.parameters(kept), tuple(sorted(spaces.items()))
