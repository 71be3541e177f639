"""Finding the call inside a record, and what the record says about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .names import Named, collect, shape
from .raw import Fields, Raw, Unusable, array_of, embedded, first_byte, is_empty, is_null, label, object_of

__all__ = [
    "TEXTS",
    "TOKENS",
    "Call",
    "add_metadata",
    "is_conversation",
    "locate",
    "refuse_other_endpoints",
    "refuse_other_kinds",
    "said",
]

# Where a body without messages keeps its prompt, as token ids or as text.
TOKENS = ("tokens", "prompt_token_ids", "input_ids", "token_ids", "prompt_tokens", "input_tokens")
TEXTS = ("prompt", "text", "text_input", "input", "inputs", "query")

_DEEPEST = 5  # wrappings around a body
_NO_CHAT = {
    "embedding": "embedding request",
    "image": "image generation request",
    "audio": "audio request",
    "transcription": "audio request",
    "speech": "audio request",
    "moderation": "moderation request",
    "rerank": "rerank request",
}
_OTHER_KIND = re.compile(rf"a?({'|'.join(_NO_CHAT)})s?(_generations?|_edits?|_variations?)?")
_EMBEDDERS = ("bge-", "e5-", "gte-", "voyage-")
_PAINTERS = ("dall-e", "gpt-image", "stable-diffusion", "flux", "imagen")


class Call(NamedTuple):
    """A request body and the objects around it, outermost first; ``response`` where a dialect knows it."""

    body: Fields
    around: tuple[Fields, ...] = ()
    response: Raw | None = None


def _nested(fields: Fields) -> Iterator[Fields]:
    for key in shape(fields).bodies:
        inner = embedded(fields[key])
        if inner is None:
            continue
        if (below := object_of(inner)) is not None:
            yield below
        elif is_conversation(inner):
            yield {"messages": inner}


def is_conversation(raw: Raw) -> bool:
    """Whether an array holds messages: its first element is an object with a role."""
    elements = array_of(raw)
    if not elements or first_byte(elements[0]) != 0x7B:
        return False
    return "role" in (object_of(elements[0]) or {})


def _chain(fields: Fields, names: tuple[str, ...], depth: int) -> tuple[Fields, ...] | None:
    if any(not is_null(fields.get(name)) for name in names):
        return (fields,)
    if depth < _DEEPEST:
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
    chain = _chain(record, ("messages",), 0) or _chain(record, (*TOKENS[:4], *TEXTS), 0)
    if chain is None:
        raise Unusable("no messages")
    return Call(chain[-1], chain[:-1])


def said(call: Call) -> dict[str, Named]:
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
    if inside:
        add_metadata(found, *inside)
    return found


def add_metadata(found: dict[str, Named], *inside: Fields) -> None:
    """Add what metadata says to what is said outside it, which wins."""
    for name, value in collect(*inside).items():
        if name not in ("status", "error", "endpoint"):
            found.setdefault(name, value)


def refuse_other_kinds(call: Call, found: dict[str, Named]) -> None:
    """Raises Unusable for a call that prefills no prompt of a chat model.

    Args:
        call: the call.
        found: what is said about it.
    """
    if "endpoint" in found:
        refuse_other_endpoints(label(found["endpoint"][0]) or "")
    body = call.body
    if "messages" in body:
        return
    if not is_empty(body.get("instructions")) or not is_empty(body.get("previous_response_id")):
        raise Unusable("Responses API request", "the body has input, not messages")
    model = (label(body.get("model")) or "").lower().rpartition("/")[2]
    if "embed" in model or model.startswith(_EMBEDDERS) or "encoding_format" in body:
        raise Unusable("embedding request")
    if model.startswith(_PAINTERS) or ("prompt" in body and "size" in body and "n" in body):
        raise Unusable("image generation request")


def refuse_other_endpoints(endpoint: str) -> None:
    """Raises Unusable for an endpoint, as a path or URL, that serves no chat model."""
    endpoint = endpoint.lower()
    steps = endpoint.partition("?")[0].split("/")
    for step in steps[3:] if "://" in endpoint else steps:
        kind = _OTHER_KIND.fullmatch(step)
        if kind is not None:
            raise Unusable(_NO_CHAT[kind[1]])
