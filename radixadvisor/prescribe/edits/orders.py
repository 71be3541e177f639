"""Edits that put blocks of text in one order, or fix what they hold.

They treat every user turn that has the block like the last one, so that a turn reads the same when it comes
back as history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from radixadvisor.diagnose.clusters import HEAD_ROLES, head_of
from radixadvisor.diagnose.items import by_name, items_of
from radixadvisor.diagnose.sections import REQUEST, TEXT, Section, sections_of
from radixadvisor.diagnose.zones import FIRST, find_block, zone_index
from radixadvisor.prescribe.edits.text import Change, cut, in_zone, replaced, with_message
from radixadvisor.records import Message, Request

__all__ = ["EDITS"]


def _between(parameters: Mapping[str, str], rewrite: Callable[[str], str]) -> Change:
    def change(message: Message) -> Message:
        text = message.text
        span = find_block(text, parameters["before"], parameters["after"])
        if span is None or not text[slice(*span)].strip():
            return message
        block = rewrite(text[slice(*span)])
        return message if block == text[slice(*span)] else replaced(message, *span, block)

    return change


def sort_items(request: Request, parameters: Mapping[str, str]) -> Request:
    """Put the items of a block in the order of their names or numbers."""

    def ordered(block: str) -> str:
        items = items_of(block)
        return block if items is None else items.joined(by_name(items.texts))

    return in_zone(request, parameters["zone"], _between(parameters, ordered))


def pin_block(request: Request, parameters: Mapping[str, str]) -> Request:
    """Give a block the same text in every request."""
    return in_zone(request, parameters["zone"], _between(parameters, lambda block: parameters["text"]))


def reorder_blocks(request: Request, parameters: Mapping[str, str]) -> Request:
    """Put the blocks that begin with ``heads`` (a JSON list of their first lines) in that order. What stands
    before the first of them stays in front, what ``end`` begins, if it is not empty, behind the last.
    """
    heads: list[str] = json.loads(parameters["heads"])
    joiner, last = parameters["joiner"], parameters["end"]

    def change(message: Message) -> Message:
        text = message.text
        starts = sorted((text.find(head), rank) for rank, head in enumerate(heads) if head in text)
        if len(starts) < 2:
            return message
        stop = text.find(last, starts[-1][0]) if last else len(text)
        if stop < 0:
            return message
        ends = [*[start for start, _ in starts[1:]], stop]
        blocks = sorted(
            (rank, text[start:end].strip("\n")) for (start, rank), end in zip(starts, ends, strict=True)
        )
        rest = [text[stop:]] if last else []
        ordered = text[: starts[0][0]] + joiner.join([*[block for _, block in blocks], *rest])
        return message if ordered == text else replaced(message, 0, len(text), ordered)

    return in_zone(request, parameters["zone"], change)


def order_sections(request: Request, parameters: Mapping[str, str]) -> Request:
    """Write the sections of a message (see ``diagnose.sections``) in the order of their names, a JSON list,
    with ``joiner`` between them. A text that lacks some is ordered too, one that has others is left alone;
    so is one in which, once ordered, other sections would be found.

    Text that comes to stand behind a section without an end of its own gets a tag.
    """
    ranks = {name: rank for rank, name in enumerate(json.loads(parameters["order"]))}
    if TEXT in ranks:
        ranks.setdefault(REQUEST, ranks[TEXT])

    def change(message: Message) -> Message:
        text = message.text
        found = sections_of(text)
        if len(found) < 2 or any(section.name not in ranks for section in found):
            return message
        pieces = _pieces(text, sorted(found, key=lambda section: ranks[section.name]))
        ordered = parameters["joiner"].join(pieces) + text[len(text.rstrip("\n")) :]
        if ordered == text or _pieces(ordered, sections_of(ordered)) != pieces:
            return message
        return replaced(message, 0, len(text), ordered)

    return in_zone(request, parameters["zone"], change)


def _pieces(text: str, sections: Iterable[Section]) -> list[str]:
    """Texts of sections in the order given."""
    pieces: list[str] = []
    closed = True
    for section in sections:
        piece = text[section.start : section.end].strip("\n")
        if section.name == TEXT and not closed:
            piece = f"{REQUEST}\n{piece}\n</{REQUEST[1:]}"
        pieces.append(piece)
        closed = section.closed
    return pieces


def pin_front(request: Request, parameters: Mapping[str, str]) -> Request:
    """Put a block that never changes at the front of the first user turn, out of all other user turns."""
    block = parameters["block"]
    first = zone_index(request, FIRST)
    messages = request.messages or ()
    if first is None or not any(block in message.text for message in messages if message.role == "user"):
        return request
    for at in range(first, len(messages)):
        message = messages[at]
        start = message.text.find(block) if message.role == "user" else -1
        if start > 0 or (start == 0 and at != first):
            rest = cut(message, start, start + len(block))
            request = with_message(request, at, _trimmed(rest, start))
    assert request.messages is not None
    target = request.messages[first]
    if target.text.startswith(block):
        return request
    return with_message(request, first, replaced(target, 0, 0, f"{block}\n\n"))


def _trimmed(message: Message, at: int) -> Message:
    """Take the blank lines away that a block left behind it or, at the end of the text, before it."""
    text = message.text
    if not text[at:].strip():
        kept = len(text.rstrip())
        return cut(message, kept, len(text)) if kept < len(text) else message
    blank = len(text[at:]) - len(text[at:].lstrip("\n"))
    return cut(message, at, at + blank) if blank else message


def pin_message(request: Request, parameters: Mapping[str, str]) -> Request:
    """Put a system message that stands among the turns behind those at the head; turns keep their order."""
    head, messages = head_of(request), request.messages or ()
    found = [
        message
        for message in messages[head:]
        if message.role in HEAD_ROLES and message.text == parameters["text"]
    ]
    if not found:
        return request
    turns = [message for message in messages[head:] if message not in found]
    known = any(message.text == parameters["text"] for message in messages[:head])
    return replace(request, messages=(*messages[:head], *([] if known else found[:1]), *turns))


EDITS = {
    "order_sections": order_sections,
    "pin_block": pin_block,
    "pin_front": pin_front,
    "pin_message": pin_message,
    "reorder_blocks": reorder_blocks,
    "sort_items": sort_items,
}
