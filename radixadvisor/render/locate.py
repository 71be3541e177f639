"""Where the contents of a request stand in a text that a foreign template printed: found, not known."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.records import Request
from radixadvisor.render.base import Origin, Piece
from radixadvisor.render.text import (
    arguments_of,
    content_pieces,
    dump_json,
    messages_of,
    parse_json,
    reasoning_pieces,
    tool_set_of,
)

__all__ = ["attach_origins"]


def _tool_needles(request: Request) -> Iterator[tuple[tuple[str, ...], str]]:
    tools = tool_set_of(request)
    for number, tool in enumerate(tools.tools if tools else ()):
        value = parse_json(tool.raw)
        yield (dump_json(value), dump_json(value, 4), dump_json(value, 2)), f"tools[{number}]"


def _message_needles(request: Request) -> Iterator[tuple[tuple[str, ...], str]]:
    for index, message in enumerate(messages_of(request)):
        for piece in (*reasoning_pieces(message, index), *content_pieces(message, index)):
            if piece.origin is not None:
                yield (piece.text,), piece.origin.path
        for number, call in enumerate(message.tool_calls):
            path = f"messages[{index}].tool_calls[{number}].function.arguments"
            yield (dump_json(arguments_of(call)), call.arguments), path


def _find(text: str, forms: tuple[str, ...], start: int) -> tuple[int, int, int] | None:
    """(position, length, characters cut at its front) of the first form that stands in the text."""
    for form in forms:
        position = text.find(form, start) if form else -1
        if position >= 0:
            return position, len(form), 0
    for form in forms:
        bare = form.strip()
        position = text.find(bare, start) if bare else -1
        if position >= 0:
            return position, len(bare), len(form) - len(form.lstrip())
    return None


def attach_origins(text: str, request: Request) -> list[Piece]:
    """The text in pieces, with an origin wherever a tool, a content, a reasoning or a call's arguments was
    found: tools anywhere, the rest in the order of the messages. Best effort: a content that the template
    changed has no origin, a very short one may be found too early.
    """
    spans: list[tuple[int, int, Origin]] = []
    for forms, path in _tool_needles(request):
        found = _find(text, forms, 0)
        if found is not None:
            spans.append((found[0], found[0] + found[1], Origin(path, found[2])))
    taken = sorted(spans)
    cursor = 0
    for forms, path in _message_needles(request):
        found = _find(text, forms, cursor)
        while found is not None and (inside := _overlap(taken, found[0], found[0] + found[1])) is not None:
            found = _find(text, forms, inside)
        if found is not None:
            cursor = found[0] + found[1]
            spans.append((found[0], cursor, Origin(path, found[2])))
    return _cut(text, sorted(spans))


def _overlap(taken: list[tuple[int, int, Origin]], start: int, end: int) -> int | None:
    """The end of a taken span that reaches into [start, end)."""
    return next((high for low, high, _ in taken if low < end and start < high), None)


def _cut(text: str, spans: list[tuple[int, int, Origin]]) -> list[Piece]:
    pieces = []
    position = 0
    for start, end, origin in spans:
        if start < position:
            continue
        if position < start:
            pieces.append(Piece(text[position:start], None))
        pieces.append(Piece(text[start:end], origin))
        position = end
    if position < len(text):
        pieces.append(Piece(text[position:], None))
    return pieces
