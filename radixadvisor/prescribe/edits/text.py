"""Cutting and adding text inside messages, their parts and cache breakpoints kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from radixadvisor.diagnose.zones import LAST, zone_index
from radixadvisor.records import Message, Part, Request

__all__ = ["Change", "append_block", "cut", "in_zone", "replaced", "tail_index", "with_message"]


def cut(message: Message, start: int, end: int) -> Message:
    """The message without ``text[start:end]``; a part that becomes empty goes, unless it is the only one."""
    return replaced(message, start, end, "")


Change = Callable[[Message], Message]


def replaced(message: Message, start: int, end: int, new: str) -> Message:
    """The message with ``text[start:end]`` exchanged; of several parts the one that holds ``start`` takes the
    new text, and the others lose what lies in the range.
    """
    content = message.content
    if content is None or isinstance(content, str):
        text = message.text
        return replace(message, content=text[:start] + new + text[end:])
    parts: list[Part] = []
    at, given = 0, False
    for number, part in enumerate(content):
        size = len(part.text)
        low, high = min(max(start - at, 0), size), min(max(end - at, 0), size)
        here = not given and (start - at <= size or number == len(content) - 1)
        text = part.text[:low] + (new if here else "") + part.text[high:]
        given = given or here
        if text or not part.text:
            parts.append(replace(part, text=text))
        at += size + 1
    return replace(message, content=tuple(parts or [replace(content[0], text="")]))


def append_block(message: Message, block: str) -> Message:
    """The message with a labelled block at its end; one that has it already is left alone."""
    block = block.strip("\n")
    if not block.strip():
        return message
    labelled = block if block.lstrip().startswith("<") else f"<context>\n{block}\n</context>"
    content = message.content
    if content is None or isinstance(content, str):
        return replace(message, content=f"{content}\n\n{labelled}" if content else labelled)
    last = content[-1] if content else Part("text", "")
    if last.kind != "text":
        return replace(message, content=(*content, Part("text", labelled)))
    return replace(message, content=(*content[:-1], replace(last, text=f"{last.text}\n\n{labelled}")))


def tail_index(request: Request) -> int | None:
    """The last message of the last user turn: a user message, or a tool result, which stands in that turn."""
    messages = request.messages or ()
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role in ("user", "tool", "function"):
            return index
    return None


def with_message(request: Request, index: int, message: Message) -> Request:
    """The request with one message exchanged."""
    messages = request.messages or ()
    return replace(request, messages=(*messages[:index], message, *messages[index + 1 :]))


def in_zone(request: Request, zone: str, change: Change) -> Request:
    """The request with a change to the message of a zone; for the last user turn, to every user turn."""
    messages = request.messages or ()
    index = zone_index(request, zone)
    if index is None:
        return request
    places = [index]
    if zone == LAST:
        places = [at for at, message in enumerate(messages) if message.role == "user"]
    for at in places:
        changed = change(messages[at])
        if changed is not messages[at]:
            request = with_message(request, at, changed)
    return request
