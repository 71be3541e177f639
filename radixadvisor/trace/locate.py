"""From a token of a prompt back to the place in the request that it came from."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.records import Request
from radixadvisor.render.base import Piece
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace.build import TOKEN_BYTES, Trace


@dataclass(frozen=True, slots=True)
class Location:
    """Where a token stands.

    ``path`` is a JSON path into the request (``messages[0].content``), None for text that the template adds,
    with ``start`` the first character of the token inside that value. ``label`` names the place for people.
    """

    path: str | None
    start: int
    label: str


def locate(trace: Trace, index: int, token: int) -> Location:
    """The origin of prompt token ``token`` (from 0) of request ``index``; the end of the prompt if it lies
    beyond.
    """
    request = trace.requests[index]
    pool = trace.pools[trace.pool_of[index]]
    if not isinstance(pool, SegmentPool):
        return Location(None, token, f"block {token}")
    if request.messages is None:
        field = "prompt" if request.text is not None else "tokens"
        return Location(field, _chars_before(pool, trace.prompt(index), token), field)
    groups = pool.renderer.groups(request)
    pieces = [pool.renderer.pieces(request, group) for group in groups]
    if len(groups) != len(trace.segments[index]):
        return _within(
            [piece for group in pieces for piece in group], request, pool, trace.prompt(index), token
        )
    for segment, group_pieces in zip(trace.segments[index], pieces, strict=True):
        tokens = pool.tokens[segment]
        count = len(tokens) // TOKEN_BYTES
        if token < count:
            return _within(group_pieces, request, pool, tokens, token)
        token -= count
    return Location(None, 0, "end of the prompt")


def _within(pieces: list[Piece], request: Request, pool: SegmentPool, tokens: bytes, token: int) -> Location:
    position = _chars_before(pool, tokens, token)
    label = "template"
    for piece in pieces:
        if piece.origin is not None:
            label = _label(piece.origin.path, request)
            if position < len(piece.text):
                return Location(piece.origin.path, piece.origin.start + position, label)
        elif position < len(piece.text):
            return Location(None, 0, f"template, {label}" if label != "template" else label)
        position -= len(piece.text)
    return Location(None, 0, "end of the prompt")


def _chars_before(pool: SegmentPool, tokens: bytes, token: int) -> int:
    """Characters in front of a token; a character that the border cuts counts from its first byte."""
    text = pool.tokenizer.decode(tokens[: token * TOKEN_BYTES])
    return len(text.rstrip("\ufffd"))


def _label(path: str, request: Request) -> str:
    """``messages[3].content`` of a user turn reads ``user turn 4``; the rest by its field."""
    head, _, rest = path.partition("]")
    field, _, number = head.partition("[")
    if field == "messages" and request.messages is not None:
        message = request.messages[int(number)]
        if message.role in ("system", "developer"):
            return message.role
        place = f"{message.role} turn {int(number) + 1}"
        return f"{place}, tool call" if rest.startswith(".tool_calls") else place
    if field == "tools" and request.tools is not None:
        return f"tool {request.tools.tools[int(number)].name}"
    return field
