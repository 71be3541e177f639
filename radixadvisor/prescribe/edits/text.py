"""Cutting and adding text inside messages, their parts and cache breakpoints kept."""

from __future__ import annotations

from dataclasses import replace

from radixadvisor.records import Message, Part, Request

__all__ = ["append_block", "cut", "tail_index", "with_message", "with_text"]


def cut(message: Message, start: int, end: int) -> Message:
    """The message without ``text[start:end]``; a part that becomes empty goes, unless it is the only one."""
    content = message.content
    if content is None or isinstance(content, str):
        text = message.text
        return replace(message, content=text[:start] + text[end:])
    parts: list[Part] = []
    at = 0
    for part in content:
        low, high = max(start - at, 0), min(end - at, len(part.text))
        text = part.text[:low] + part.text[high:] if low < high else part.text
        if text or not part.text:
            parts.append(replace(part, text=text))
        at += len(part.text) + 1
    return replace(message, content=tuple(parts or [replace(content[0], text="")]))


def with_text(message: Message, text: str) -> Message:
    """The message with another text; of several parts the first one holds it."""
    content = message.content
    if content is None or isinstance(content, str):
        return replace(message, content=text)
    rest = tuple(part for part in content[1:] if part.kind != "text")
    return replace(message, content=(replace(content[0], text=text), *rest))


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
