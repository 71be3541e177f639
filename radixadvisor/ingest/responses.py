"""What came back: the output, the server's token counts, and whether the call failed."""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

import msgspec

from radixadvisor.records import Output, Usage

from .drafts import generated
from .intern import Interner
from .names import Named, shape
from .raw import (
    Fields,
    Raw,
    array_of,
    embedded,
    first_byte,
    integers,
    is_empty,
    is_null,
    label,
    number,
    object_of,
    string,
)

__all__ = ["Answer", "failure", "read_answer", "read_usage", "response_in", "token_bytes"]

_CUT = ("length", "max_tokens", "max_output_tokens", "content_filter", "abort", "error", "pause_turn")
_FAILED = ("error", "failure", "failed", "cancelled", "canceled", "timeout", "aborted")
_TELLING = frozenset(("status_code", "error"))
_CODE = re.compile(r"(\d{3})\b")
_ERROR = re.compile(r"[\w.-]{1,40}")
# One of these tells an API's response from an object that a model wrote.
_API_KEYS = frozenset(("usage", "error", "status_code", "id", "choices", "created", "created_at"))
_WRAPPERS = ("body", "data", "json", "response", "result", "message", "content")


class Answer(NamedTuple):
    """A response taken apart; ``fields`` are those of its completion object, empty for bare text."""

    output: Output | None
    fields: Fields


def token_bytes(raw: Raw) -> bytes | None:
    """A list of token ids as packed int32; None if it is not one, or an id does not fit."""
    ids = integers(raw)
    if ids is None:
        return None
    try:
        return array("i", ids).tobytes()
    except OverflowError:
        return None


def response_in(fields: Fields) -> Raw | None:
    """The response that a record keeps beside its request, or the record itself where both are merged."""
    if "choices" in fields and not is_empty(fields["choices"]):
        return None
    for key in shape(fields).responses:
        if not is_null(fields[key]):
            return fields[key]
    return None


class _Choice(msgspec.Struct, gc=False):
    message: Raw = Raw(b"null")
    text: Raw = Raw(b"null")
    finish_reason: Raw = Raw(b"null")


_CHOICES = msgspec.json.Decoder(list[_Choice])


def _chosen(fields: Fields, interner: Interner) -> Output | None:
    """The output of a completion object: its first choice, which is a message or bare text."""
    raw = fields.get("choices")
    try:
        choices = _CHOICES.decode(raw) if raw is not None else []
    except (msgspec.DecodeError, RecursionError):
        return None
    if not choices:
        return None
    choice = choices[0]
    stopped = label(choice.finish_reason) not in _CUT
    if first_byte(choice.message) == 0x7B:
        return generated(interner.answer(choice.message), stopped)
    text = choice.message if is_empty(choice.text) else choice.text
    return None if is_empty(text) else Output(text=string(text), stopped=stopped)


def read_answer(raw: Raw, interner: Interner, depth: int = 0) -> Answer:
    """A response as message, text, token ids, a length, or a whole completion object (or its JSON string)."""
    fields = object_of(raw)
    if fields is None:
        return _no_object(raw, interner, depth)
    output = _chosen(fields, interner)
    if output is not None:
        return Answer(output, fields)
    if _is_message(fields, encoded=first_byte(raw) == 0x22):
        stopped = label(fields.get("stop_reason", fields.get("finish_reason"))) not in _CUT
        return Answer(Output(message=interner.answer(embedded(raw) or raw), stopped=stopped), fields)
    for key in ("text", "output_text", "generated_text", "completion", "response"):
        if first_byte(fields.get(key, Raw())) == 0x22:
            return Answer(Output(text=string(fields[key])), fields)
    for key in _WRAPPERS:
        if depth < 4 and key in fields and embedded(fields[key]) is not None:
            within = read_answer(fields[key], interner, depth + 1)
            return Answer(within.output, {**fields, **within.fields})
    if not fields or not _API_KEYS.isdisjoint(fields):
        return Answer(None, fields)
    return Answer(Output(text=string(raw)), {})


def _is_message(fields: Fields, encoded: bool) -> bool:
    """Whether an object is a bare message. A string may hold an encoded one, or just what a model wrote in
    JSON mode, so there a role must stand beside the content.
    """
    if encoded:
        return "role" in fields and ("content" in fields or "tool_calls" in fields)
    content = first_byte(fields.get("content", Raw())) in b'"['
    return content or "role" in fields or "tool_calls" in fields


def _no_object(raw: Raw, interner: Interner, depth: int) -> Answer:
    """Bare text, a length, or an array: token ids, content blocks, or completions (the first counts)."""
    if first_byte(raw) == 0x22:
        return Answer(Output(text=string(raw)), {})
    elements = array_of(raw)
    if elements is None:
        length = number(raw)
        return Answer(Output(length=int(length)) if length is not None and 0 <= length < 2**31 else None, {})
    if (tokens := token_bytes(raw)) is not None:
        return Answer(Output(tokens=tokens) if tokens else None, {})
    if depth < 4 and first_byte(elements[0]) in b'{"':
        return read_answer(elements[0], interner, depth + 1)
    return Answer(Output(text=string(raw)), {})


def _count(fields: Fields, *names: str) -> int | None:
    for name in names:
        value = number(fields.get(name))
        if value is not None and 0 <= value < 2**53:
            return int(value)
    return None


def read_usage(fields: Fields) -> Usage | None:
    """The server's counts, with ``cached`` and ``cache_write`` made parts of ``prompt``.

    OpenAI's ``prompt_tokens`` includes what was cached. Anthropic's ``input_tokens`` does not, which shows in
    ``cache_read_input_tokens`` or ``cache_creation_input_tokens`` beside it.
    """
    details = object_of(fields.get("prompt_tokens_details", fields.get("input_tokens_details"))) or {}
    cached = _count(details, "cached_tokens", "cache_read_tokens")
    written = _count(details, "cache_write_tokens", "cache_creation_tokens", "cached_creation_tokens")
    beside = _count(fields, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    created = _count(fields, "cache_creation_input_tokens", "cache_write_tokens")
    prompt = _count(fields, "prompt_tokens")
    if prompt is None:
        prompt = _count(fields, "input_tokens")
        if prompt is not None and not details:
            exclusive = "cache_read_input_tokens" in fields or "cache_creation_input_tokens" in fields
            prompt += ((beside or 0) + (created or 0)) if exclusive else 0
    cached = beside if cached is None else cached
    written = created if written is None else written
    completion = _count(fields, "completion_tokens", "output_tokens")
    if prompt is not None and (cached or 0) > prompt:
        prompt += (cached or 0) + (written or 0)
    usage = Usage(prompt, completion, cached, written)
    return None if usage == Usage() else usage


def failure(found: dict[str, Named], fields: Fields) -> str | None:
    """Why a call failed, as a status or an error's code; None if it did not.

    Args:
        found: what the record's usual names say.
        fields: those of the response's completion object.
    """
    if "status" not in found and "error" not in found and _TELLING.isdisjoint(fields):
        return None
    for raw in (found["status"][0] if "status" in found else None, fields.get("status_code")):
        if raw is None:
            continue
        status = (label(raw) or "").strip()
        code = _CODE.match(status)
        if (code and int(code[1]) >= 400) or status.lower() in _FAILED:
            return f"status {code[1] if code else status}"
    for error in (found["error"][0] if "error" in found else None, fields.get("error")):
        if is_empty(error) or (label(error) or "").lower() in ("none", "null", "false"):
            continue
        inner = object_of(error) or {}
        named = label(inner.get("code")) or label(inner.get("type")) or ""
        return f"error {named}" if _ERROR.fullmatch(named) else "error"
    return None
