"""From a request body to a Request: shared by every dialect whose records hold a chat or completion call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from radixadvisor.records import Message, Output, Request, Skip, Source, ToolSet, Usage

from .intern import Interner
from .names import NAMESPACES, Named, collect, shape
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
    number,
    object_of,
    string,
)
from .responses import Answer, failure, read_answer, read_usage, response_in, token_bytes
from .times import Clock, duration, guess_unit

__all__ = ["Call", "Context", "locate", "position_id", "read_call"]

_REDACTED = ("redacted-by-litellm", "__REDACTED__")
_TOKENS = ("tokens", "prompt_token_ids", "input_ids", "token_ids", "prompt_tokens", "input_tokens")
_TEXTS = ("prompt", "text", "text_input", "input", "inputs", "query")
_NO_CHAT = {
    "embedding": "embedding request",
    "image": "image generation request",
    "audio": "audio request",
    "transcription": "audio request",
    "speech": "audio request",
    "moderation": "moderation request",
    "rerank": "rerank request",
}
_IMAGE_MODELS = ("dall-e", "gpt-image", "stable-diffusion", "flux", "imagen")


class Call(NamedTuple):
    """A request body and the objects around it, outermost first; ``response`` where a dialect knows it."""

    body: Fields
    around: tuple[Fields, ...] = ()
    response: Raw | None = None


@dataclass(slots=True)
class Context:
    """What the readers of one log share.

    ``sample`` holds the first records: facts that no single record tells (the unit of a duration) are decided
    on them.
    """

    interner: Interner = field(default_factory=Interner)
    clock: Clock = field(default_factory=Clock)
    sample: Sequence[Fields] = ()
    units: dict[str, str] = field(default_factory=dict)

    def unit(self, kind: str, longest: float) -> str:
        """The unit of durations under keys that name none: decided once for a log, from its sample."""
        if kind not in self.units:
            named = (found for record in self.sample for found in _facts(record) if kind in found)
            bare = [found[kind][0] for found in named if found[kind][1] is None]
            self.units[kind] = guess_unit(bare, longest)
        return self.units[kind]


class _Times(NamedTuple):
    """Seconds; arrival as epoch seconds."""

    arrival: float | None
    latency: float | None
    ttft: float | None


def position_id(source: Source) -> str:
    """The id of a request whose log gives none."""
    return f"{source.file}:{source.line}"


def _facts(record: Fields) -> Iterator[dict[str, Named]]:
    try:
        call = locate(record)
        yield _said(call)
    except Unusable:
        return


def _nested(fields: Fields) -> Iterator[Fields]:
    for key in shape(fields).bodies:
        inner = embedded(fields[key])
        if inner is None:
            continue
        if (below := object_of(inner)) is not None:
            yield below
        elif _is_conversation(inner):
            yield {"messages": inner}


def _is_conversation(raw: Raw) -> bool:
    """Whether an array holds messages: its first element is an object with a role."""
    elements = array_of(raw)
    if not elements or first_byte(elements[0]) != 0x7B:
        return False
    return "role" in (object_of(elements[0]) or {})


def _chain(fields: Fields, names: tuple[str, ...], depth: int) -> tuple[Fields, ...] | None:
    if any(not is_null(fields.get(name)) for name in names):
        return (fields,)
    if depth < 5:
        for below in _nested(fields):
            chain = _chain(below, names, depth + 1)
            if chain is not None:
                return (fields, *chain)
    return None


def locate(record: Fields) -> Call:
    """Find the request body: the object with ``messages``, else with a prompt, however it is wrapped.

    Raises:
        Unusable: there is none.
    """
    if not is_null(record.get("messages")):
        return Call(record)
    chain = _chain(record, ("messages",), 0) or _chain(record, (*_TOKENS[:4], *_TEXTS), 0)
    if chain is None:
        raise Unusable("no messages")
    return Call(chain[-1], chain[:-1])


def _said(call: Call) -> dict[str, Named]:
    """What is said about a call: around it, in it, and in the metadata of either.

    Metadata belongs to the application: a ``status`` there is not the status of the call.
    """
    outside = (*call.around, call.body)
    found = collect(*outside)
    inside = [
        below
        for fields in outside
        for key in shape(fields).containers
        if (below := object_of(fields[key])) is not None
    ]
    for name, value in collect(*inside).items() if inside else ():
        if name not in ("status", "error", "endpoint"):
            found.setdefault(name, value)
    return found


def _refuse_other_kinds(call: Call, found: dict[str, Named]) -> None:
    """Calls that prefill no prompt of a chat model."""
    endpoint = (label(found["endpoint"][0]) or "").lower() if "endpoint" in found else ""
    for part, reason in _NO_CHAT.items():
        if part in endpoint:
            raise Unusable(reason)
    body = call.body
    if "messages" in body:
        return
    if not is_empty(body.get("instructions")) or not is_empty(body.get("previous_response_id")):
        raise Unusable("Responses API request", "the body has input, not messages")
    model = (label(body.get("model")) or "").lower()
    if "embed" in model or "encoding_format" in body:
        raise Unusable("embedding request")
    if model.startswith(_IMAGE_MODELS) or ("prompt" in body and "size" in body and "n" in body):
        raise Unusable("image generation request")


def _parameters(call: Call, interner: Interner) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
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


def _times(found: Mapping[str, Named], answer: Answer, context: Context) -> _Times:
    """Arrival, latency and time to first token. Arrival is the start, else the end less the latency.

    A response's ``created`` is an end. In a record that merges request and response, so is its ``created``.
    """
    clock = context.clock

    def stamp(name: str) -> float | None:
        return clock.read(*found[name]) if name in found else None

    def seconds(name: str, longest: float) -> float | None:
        if name not in found:
            return None
        raw, unit = found[name]
        return duration(raw, unit or context.unit(name, longest))

    start, end = stamp("start"), stamp("end")
    latency, ttft = seconds("latency", 300.0), seconds("ttft", 60.0)
    if start is None and end is None:
        end = clock.read(answer.fields.get("created", answer.fields.get("created_at")))
    if latency is None and start is not None and end is not None and end >= start:
        latency = end - start
    arrival = start
    if arrival is None and end is not None:
        arrival = max(0.0, end - (latency or 0.0))
    first = stamp("first_token")
    if ttft is None and first is not None and arrival is not None and first >= arrival:
        ttft = first - arrival
    return _Times(arrival, latency, ttft)


def _usage(found: Mapping[str, Named], answer: Answer) -> Usage | None:
    for raw in (answer.fields.get("usage"), found["usage"][0] if "usage" in found else None):
        counts = object_of(raw)
        usage = read_usage(counts) if counts else None
        if usage is not None:
            return usage
    counted = {"prompt_tokens", "completion_tokens", "cached_tokens"} & found.keys()
    return read_usage({name: found[name][0] for name in counted}) if counted else None


def _messages(body: Fields, interner: Interner) -> tuple[Message, ...] | str:
    """The messages of a body, or its text where a logger kept a bare prompt under ``messages``."""
    raw = body["messages"]
    listed = array_of(raw)
    if listed is None:
        if first_byte(raw) == 0x22 and embedded(raw) is None:
            text = string(raw)
            if text in _REDACTED:
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


class _Prompt(NamedTuple):
    messages: tuple[Message, ...] | None = None
    text: str | None = None
    tokens: bytes | None = None


def _prompts(body: Fields, interner: Interner) -> list[_Prompt]:
    """The prompts of a body: one, or several where a completion call holds a list of prompts."""
    if not is_null(body.get("messages")):
        messages = _messages(body, interner)
        return [_Prompt(text=messages) if isinstance(messages, str) else _Prompt(messages)]
    for name in (*_TOKENS, *_TEXTS):
        raw = body.get(name)
        if raw is None or is_null(raw):
            continue
        if first_byte(raw) == 0x22 and name in _TEXTS:
            text = string(raw)
            if text in _REDACTED:
                raise Unusable("prompt text redacted")
            return [_framed(text, body, interner)]
        elements = array_of(raw)
        if not elements:
            continue
        if (tokens := token_bytes(raw)) is not None:
            return [_Prompt(tokens=tokens)]
        if _is_conversation(raw):
            return [_Prompt(interner.messages(elements))]
        return [_one_of(element) for element in elements]
    raise Unusable("no messages")


def _turn(text: str) -> Raw:
    return Raw(msgspec.json.encode({"role": "user", "content": text}))


def _framed(text: str, body: Fields, interner: Interner) -> _Prompt:
    """A text prompt; with a system prompt beside it, the two turns that its engine makes of them."""
    for name in ("system", "system_prompt"):
        system = interner.system(body[name]) if name in body else None
        if system is not None:
            return _Prompt(messages=(system, *interner.messages([_turn(text)])))
    return _Prompt(text=text)


def _one_of(raw: Raw) -> _Prompt:
    if first_byte(raw) == 0x22:
        return _Prompt(text=string(raw))
    tokens = token_bytes(raw)
    if tokens is None:
        raise Unusable("prompt of an unknown form")
    return _Prompt(tokens=tokens)


def _tools(call: Call, interner: Interner) -> ToolSet | None:
    """Tool definitions, wherever a record keeps them: in the body, in its parameters, or around it."""
    sources = [call.body, *call.around]
    for source in sources:
        for name in ("tools", "functions"):
            if (tools := interner.tools(source.get(name))) is not None:
                return tools
        sources += [below for key in shape(source).extras if (below := object_of(source[key]))]
    return None


def read_call(call: Call, source: Source, context: Context) -> list[Request | Skip]:
    """The requests of one record: one, or one for each prompt of a list.

    Raises:
        Unusable: the record yields no request.
    """
    interner = context.interner
    found = _said(call)
    _refuse_other_kinds(call, found)
    answer = _answer(call, interner)
    failed = failure(found, answer.fields)
    if failed is not None:
        raise Unusable("failed request", failed)
    prompts = _prompts(call.body, interner)
    parameters, namespace = _parameters(call, interner)
    times = _times(found, answer, context)
    usage = _usage(found, answer)
    output = answer.output
    if output is None and usage is not None and usage.completion is not None:
        output = Output(length=usage.completion)

    def named(name: str) -> str | None:
        return label(found[name][0]) if name in found else None

    identity = named("id") or label(answer.fields.get("id")) or position_id(source)
    model = label(call.body.get("model")) or named("model") or label(answer.fields.get("model")) or ""
    tools = _tools(call, interner)
    priority = number(found["priority"][0]) if "priority" in found else None
    several = len(prompts) > 1
    return [
        Request(
            id=f"{identity}#{index + 1}" if several else identity,
            source=source,
            model=model,
            messages=prompt.messages,
            tools=tools,
            text=prompt.text,
            tokens=prompt.tokens,
            output=None if several else output,
            usage=None if several else usage,
            arrival=times.arrival,
            latency=times.latency,
            ttft=times.ttft,
            session=named("session"),
            tenant=named("tenant"),
            user=named("user"),
            app=named("app"),
            replica=named("replica"),
            priority=int(priority) if priority is not None and abs(priority) < 2**31 else 0,
            namespace=namespace,
            parameters=parameters,
        )
        for index, prompt in enumerate(prompts)
    ]


def _answer(call: Call, interner: Interner) -> Answer:
    """The response of a call, wherever it stands; an unreadable one costs the output, not the request."""
    raw = call.response
    for fields in (*call.around, call.body):
        if raw is None:
            raw = response_in(fields)
        if raw is None and not is_empty(fields.get("choices")):
            choices = Raw(b'{"choices":' + bytes(fields["choices"]) + b"}")
            merged = read_answer(choices, interner)
            return Answer(merged.output, fields)
    if raw is None:
        return Answer(None, {})
    try:
        return read_answer(raw, interner)
    except Unusable:
        return Answer(None, {})
