"""From the parts that a log keeps of a call (request, response, facts about it) to Requests."""

from __future__ import annotations

import base64
import binascii

from radixadvisor.records import Request, Skip, Source

from .bodies import Context, read_call
from .dialect import NO_PROMPT
from .foreign import chat_answer, chat_body
from .locate import Call
from .raw import Fields, Raw, Unusable, embedded, first_byte, is_empty, string
from .streams import is_events, joined_events
from .view import encode

__all__ = ["body_in", "not_a_call", "payload", "read_foreign", "without_prompt"]

_LARGEST = 1 << 26  # bytes of one body in base64
_BASE64 = ("eyJ", "eyAi", "ewog", "W3si", "ZGF0YTo")  # of {" and its like, and of data:


def payload(raw: Raw | None, *, base64_encoded: bool = False) -> Raw | None:
    """A logged body: an object, its string, its base64 form, or a stream of events put together."""
    if raw is None or is_empty(raw) or first_byte(raw) != 0x22:
        return raw if raw is not None and not is_empty(raw) else None
    text = string(raw)
    if base64_encoded:
        text = _decoded(text)
    if text.strip() in ("", "-", "{}", "null"):
        return None
    if is_events(text):
        return joined_events(text)
    held = encode(text)
    inner = embedded(held)
    if inner is None and not base64_encoded and text.startswith(_BASE64):
        return payload(raw, base64_encoded=True)
    return held if inner is None else inner


def body_in(raw: Raw | None, *, base64_encoded: bool = False) -> Raw | None:
    """A logged request body; raises Unusable where the logger cut it, so that it is no whole JSON."""
    body = payload(raw, base64_encoded=base64_encoded)
    if body is not None and first_byte(body) == 0x22 and string(body).lstrip()[:1] in ("{", "["):
        raise Unusable("prompt cut by the logger", "the body is no whole JSON")
    return body


def _decoded(text: str) -> str:
    if len(text) > _LARGEST:
        raise Unusable("record too long", "a body in base64 beyond 64 MiB")
    try:
        return base64.b64decode(text, validate=False).decode()
    except (binascii.Error, ValueError):
        raise Unusable("body cannot be decoded", "not base64 of UTF-8 text") from None


def read_foreign(
    prompt: Raw | Fields | None, response: Raw | None, facts: Fields, source: Source, context: Context
) -> list[Request | Skip]:
    """The requests of one call whose request and response may be in the form of any API.

    Args:
        prompt: the request body, its messages, or its text.
        response: what came back, if it is known.
        facts: what else is known, under the usual names.

    Raises:
        Unusable: there is no prompt in it.
    """
    body = chat_body(prompt if not isinstance(prompt, dict) else encode(prompt))
    answer = chat_answer(response)
    return read_call(Call(body, (facts,), answer if answer is not None else Raw(b"null")), source, context)


def without_prompt(
    context: Context, prompt: int | None, completion: int | None, cached: int | None = None
) -> Unusable:
    """The reason for a call of which only lengths are known; they are counted, so that totals can be told."""
    remarks = context.remarks
    remarks["calls without prompt text"] += 1
    for name, count in (("prompt", prompt), ("output", completion), ("cached prompt", cached)):
        if count:
            remarks[f"{name} tokens in calls without prompt text"] += count
    return Unusable(NO_PROMPT)


def not_a_call(context: Context, what: str = "records are no model calls") -> tuple[()]:
    """Count a record that tells of no call of a model."""
    context.remarks[what] += 1
    return ()
