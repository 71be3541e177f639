"""Edits that move, drop or pin a block of text inside a prompt.

Parameters of each: ``zone``, ``before``, ``after`` (see ``diagnose.zones``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from radixadvisor.diagnose.zones import FIRST, find_block, zone_index
from radixadvisor.prescribe.edits.text import append_block, cut, in_zone, tail_index, with_message
from radixadvisor.records import Message, Request

__all__ = ["EDITS"]


def _found(request: Request, parameters: Mapping[str, str]) -> tuple[int, int, int] | None:
    """Message index, start and end of a block that is there and not blank."""
    index = zone_index(request, parameters["zone"])
    if index is None or request.messages is None:
        return None
    span = _span(request.messages[index].text, parameters)
    return None if span is None else (index, *span)


def _span(text: str, parameters: Mapping[str, str]) -> tuple[int, int] | None:
    """Where a block stands that is not blank; a line that it shares with what stands before stays a line."""
    span = find_block(text, parameters["before"], parameters["after"])
    if span is None or not text[slice(*span)].strip():
        return None
    start, end = span
    if start and text[start - 1] != "\n":
        end = start + len(text[start:end].rstrip("\n"))
    return start, end


def drop_block(request: Request, parameters: Mapping[str, str]) -> Request:
    """Leave a block out."""
    found = _found(request, parameters)
    if found is None or request.messages is None:
        return request
    index, start, end = found
    return with_message(request, index, cut(request.messages[index], start, end))


def move_block(request: Request, parameters: Mapping[str, str]) -> Request:
    """Move a block behind what requests share: ``to`` is ``tail`` (end of the last user turn), ``first`` (end
    of the first user turn, where it stays for the whole conversation) or ``end`` (of its own message).
    """
    if parameters["to"] == "end":
        return in_zone(request, parameters["zone"], partial(_to_end, parameters))
    found = _found(request, parameters)
    if found is None or request.messages is None:
        return request
    index, start, end = found
    target = zone_index(request, FIRST) if parameters["to"] == "first" else tail_index(request)
    message = request.messages[index]
    block = message.text[start:end]
    if target is None or target == index:
        return in_zone(request, parameters["zone"], partial(_to_end, parameters))
    return _appended(
        with_message(request, index, cut(message, start, end)),
        target,
        lambda receiver: append_block(receiver, block),
    )


def _to_end(parameters: Mapping[str, str], message: Message) -> Message:
    text = message.text
    span = _span(text, parameters)
    if span is None or not text[span[1] :].strip():
        return message
    return append_block(cut(message, *span), text[slice(*span)])


def _appended(request: Request, index: int, change: Callable[[Message], Message]) -> Request:
    assert request.messages is not None
    return with_message(request, index, change(request.messages[index]))


EDITS = {"drop_block": drop_block, "move_block": move_block}
