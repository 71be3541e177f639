"""An edited request put back into the record that it was read from; everything else in it stays as it is.

A record may hold its messages anywhere: at the top, in the body of an envelope, or in a string that is JSON.
All lists of as many messages are changed alike; whether the record then reads as the edited request is for
the caller to check, by reading it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from radixadvisor.records import Message, Part, Request, ToolSet
from radixadvisor.trace.exports import message_of

__all__ = ["patched"]

Fields = dict[str, msgspec.Raw]

_DEEPEST = 5
_MESSAGES = ("messages", "input", "prompt", "inputs")
_PAYLOAD = ("response", "output", "usage", "completion", "choices", "error")
"""Where answers stand, which hold messages too."""

_fields = msgspec.json.Decoder(Fields).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_any = msgspec.json.decode


def patched(record: bytes, original: Request, edited: Request) -> bytes | None:
    """The record with the edited request's messages and tools; None if it does not show where they stand."""
    done: set[str] = set()
    found = _object(record, original, edited, 0, done)
    wanted = set()
    if original.messages != edited.messages:
        wanted.add("messages")
    if original.tools is not edited.tools:
        wanted.add("tools")
    return found if wanted <= done else None


def _object(data: bytes, original: Request, edited: Request, depth: int, done: set[str]) -> bytes:
    fields = _fields(data)
    system = "system" in fields and bool(bytes(fields["system"]).strip(b"null \t\r\n"))
    changed = False
    for name, raw in fields.items():
        held = bytes(raw).strip()
        new = _field(name, held, original, edited, system, depth, done)
        if new is not None and new != held:
            fields[name] = msgspec.Raw(new)
            changed = True
    return msgspec.json.encode(fields) if changed else data


def _field(
    name: str, held: bytes, original: Request, edited: Request, system: bool, depth: int, done: set[str]
) -> bytes | None:
    """A field's new value; None where nothing of the request stands in it."""
    if (held[:1] == b'"' and held[1:3] in (b"{\\", b"[{", b"[\\")) or held[:2] == b'"{':
        inner = _any(held).encode()
        try:
            new = _field(name, inner.strip(), original, edited, system, depth, done)
        except (msgspec.DecodeError, RecursionError):
            return None
        return None if new is None or new == inner.strip() else msgspec.json.encode(new.decode())
    before, after = original.messages or (), edited.messages or ()
    if name == "system" and before and after and before[0].role == after[0].role == "system":
        if before[1:] == after[1:]:
            done.add("messages")
        return None if before[0] is after[0] else _content(held, before[0], after[0])
    if name in _MESSAGES and held[:1] == b"[":
        return _messages(held, original, edited, system, done)
    if name == "tools" and held[:1] == b"[":
        return _tools(held, original.tools, edited.tools, done)
    if held[:1] == b"{" and depth < _DEEPEST and name not in _PAYLOAD:
        return _object(held, original, edited, depth + 1, done)
    return None


def _messages(held: bytes, original: Request, edited: Request, system: bool, done: set[str]) -> bytes | None:
    elements = _elements(held)
    old, new = original.messages or (), edited.messages or ()
    if not elements or not all(_is_turn(element) for element in elements):
        return None
    if system and len(elements) == len(old) - 1 and old[0].role == "system":
        if not new or new[0].role != "system":
            return None
        old, new = old[1:], new[1:]
    if len(elements) != len(old):
        return None
    done.add("messages")
    raw = {id(message): element for message, element in zip(old, elements, strict=True)}
    same_turns = len(old) == len(new)
    made: list[msgspec.Raw] = []
    for number, message in enumerate(new):
        known = raw.get(id(message))
        if known is not None:
            made.append(known)
        elif same_turns and old[number].role == message.role:
            made.append(_turn(elements[number], old[number], message))
        else:
            made.append(msgspec.Raw(msgspec.json.encode(message_of(message))))
    return msgspec.json.encode(made)


def _is_turn(element: msgspec.Raw) -> bool:
    held = bytes(element).lstrip()
    return held[:1] == b"{" and "role" in _fields(held)


def _turn(element: msgspec.Raw, old: Message, new: Message) -> msgspec.Raw:
    """An element of the list with what differs between two messages."""
    fields = _fields(bytes(element))
    if new.content != old.content and "content" in fields:
        fields["content"] = msgspec.Raw(_content(bytes(fields["content"]), old, new))
    if new.reasoning != old.reasoning:
        names = [name for name in ("reasoning_content", "reasoning") if name in fields]
        for name in names or ["reasoning_content"]:
            if new.reasoning is None:
                fields.pop(name, None)
            else:
                fields[name] = msgspec.Raw(msgspec.json.encode(new.reasoning))
    if new.tool_calls != old.tool_calls and "tool_calls" in fields:
        fields["tool_calls"] = msgspec.Raw(_calls(bytes(fields["tool_calls"]), old, new))
    return msgspec.Raw(msgspec.json.encode(fields))


def _calls(held: bytes, old: Message, new: Message) -> bytes:
    made = []
    for raw, before, after in zip(_elements(held), old.tool_calls, new.tool_calls, strict=True):
        if before == after:
            made.append(raw)
            continue
        call = _fields(bytes(raw))
        function = _fields(bytes(call["function"]))
        text = bytes(function["arguments"]).lstrip()[:1] == b'"'
        value = msgspec.json.encode(after.arguments) if text else after.arguments.encode()
        function["arguments"] = msgspec.Raw(value)
        call["function"] = msgspec.Raw(msgspec.json.encode(function))
        made.append(msgspec.Raw(msgspec.json.encode(call)))
    return msgspec.json.encode(made)


def _content(held: bytes, old: Message, new: Message) -> bytes:
    """A content in the form that it had: a string, or a list of blocks of which those that stay keep all
    that they say.
    """
    if held.lstrip()[:1] != b"[":
        return msgspec.json.encode(new.text if new.content is not None else None)
    blocks = _elements(held)
    parts = old.content if isinstance(old.content, tuple) else (Part("text", old.text),)
    wanted = new.content if isinstance(new.content, tuple) else (Part("text", new.text),)
    places = _places(blocks, parts)
    made: list[Any] = []
    used: set[int] = set()
    for number, part in enumerate(wanted):
        same = next((at for at, one in enumerate(parts) if at not in used and one == part), None)
        if same is not None and places.get(same) is not None:
            used.add(same)
            made.append(blocks[places[same]])
        elif number < len(parts) and number in places and len(parts) == len(wanted):
            block = _fields(bytes(blocks[places[number]]))
            block["text"] = msgspec.Raw(msgspec.json.encode(part.text))
            used.add(number)
            made.append(block)
        else:
            made.append({"type": "text", "text": part.text})
    # Blocks that are no part of the content (calls, results) stay where they stood: behind the text.
    own = set(places.values())
    return msgspec.json.encode([*made, *(block for at, block in enumerate(blocks) if at not in own)])


def _places(blocks: Sequence[msgspec.Raw], parts: Sequence[Part]) -> Mapping[int, int]:
    """For each part of a content the block that it is: in order, by its text where it has one."""
    found: dict[int, int] = {}
    at = 0
    for number, part in enumerate(parts):
        for place in range(at, len(blocks)):
            block = bytes(blocks[place]).lstrip()
            text = _any(block) if block[:1] in (b"{", b'"') else None
            shown = text.get("text") if isinstance(text, dict) else text
            if shown == part.text or (part.kind != "text" and shown is None):
                found[number] = place
                at = place + 1
                break
    return found


def _tools(held: bytes, old: ToolSet | None, new: ToolSet | None, done: set[str]) -> bytes | None:
    elements = _elements(held)
    if old is None or new is None or len(elements) != len(old.tools):
        return None
    done.add("tools")
    left = list(zip(old.tools, elements, strict=True))
    made: list[msgspec.Raw] = []
    for tool in new.tools:
        known = next((pair for pair in left if pair[0].raw == tool.raw and pair[0].name == tool.name), None)
        if known is not None:
            left.remove(known)
            made.append(known[1])
        else:
            made.append(msgspec.Raw(tool.raw.encode()))
    return msgspec.json.encode(made)
