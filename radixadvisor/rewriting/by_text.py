"""An edited request put back by its texts: every string that is a changed text becomes the new one.

This is for dialects whose lists are not those of the chat API (blocks, items, spans, strings that are JSON),
and for edits that change texts alone. Whether the record then reads as the edited request is for the caller
to check, by reading it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from radixadvisor.records import Message, Request

__all__ = ["patched_by_text"]

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode


def patched_by_text(record: bytes, original: Request, edited: Request) -> bytes | None:
    """The record with the edited request's texts; None if more than texts differ, or none stands in it."""
    if original.tools is not edited.tools:
        return None
    texts = _changed(original.messages or (), edited.messages or ())
    if not texts:
        return None
    found = _value(record.strip(), texts)
    return None if found == record.strip() else found


def _changed(old: tuple[Message, ...], new: tuple[Message, ...]) -> dict[str, str] | None:
    """New texts by old ones; None if messages or parts came, went or moved."""
    if len(old) != len(new):
        return None
    texts: dict[str, str] = {}
    for one, two in zip(old, new, strict=True):
        if one is two:
            continue
        if (one.role, one.tool_calls, one.reasoning) != (two.role, two.tool_calls, two.reasoning):
            return None
        pairs = _pairs(one, two)
        if pairs is None:
            return None
        for before, after in pairs:
            if texts.setdefault(before, after) != after:
                return None
    return {before: after for before, after in texts.items() if before != after}


def _pairs(old: Message, new: Message) -> list[tuple[str, str]] | None:
    if isinstance(old.content, tuple) and isinstance(new.content, tuple):
        if len(old.content) != len(new.content):
            return None
        return [(one.text, two.text) for one, two in zip(old.content, new.content, strict=True)]
    return [(old.text, new.text)] if old.text else None


def _value(held: bytes, texts: Mapping[str, str]) -> bytes:
    first = held[:1]
    if first == b"{":
        fields = _fields(held)
        new = {name: msgspec.Raw(_value(bytes(raw).strip(), texts)) for name, raw in fields.items()}
        same = all(bytes(new[name]) == bytes(raw).strip() for name, raw in fields.items())
        return held if same else msgspec.json.encode(new)
    if first == b"[":
        elements = _elements(held)
        made = [msgspec.Raw(_value(bytes(raw).strip(), texts)) for raw in elements]
        same = all(bytes(one) == bytes(two).strip() for one, two in zip(made, elements, strict=True))
        return held if same else msgspec.json.encode(made)
    if first != b'"':
        return held
    text = _string(held)
    if text in texts:
        return msgspec.json.encode(texts[text])
    inner = text.strip()
    if inner[:1] in ("{", "["):
        try:
            new_inner = _value(inner.encode(), texts)
        except (msgspec.DecodeError, RecursionError):
            return held
        return held if new_inner == inner.encode() else msgspec.json.encode(new_inner.decode())
    return held
