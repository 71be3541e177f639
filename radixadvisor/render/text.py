"""What the template families share: contents with their origins, and JSON as templates print it."""

from __future__ import annotations

import json
from collections.abc import Hashable
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from radixadvisor.records import Message, Request, Tool, ToolCall, ToolSet
from radixadvisor.render.base import Origin, Piece, RenderError

__all__ = [
    "ROLES",
    "argument_piece",
    "arguments_of",
    "content_pieces",
    "dump_json",
    "literal",
    "messages_of",
    "name_piece",
    "parse_json",
    "plain_turn",
    "reasoning_pieces",
    "request_day",
    "role_error",
    "sliced",
    "stripped",
    "template_options",
    "tool_piece",
    "tool_set_of",
]

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
}
"""Every role that may stand in a log, and the one that templates know it by."""


def literal(text: str) -> Piece:
    """Text that the template itself adds."""
    return Piece(text, None)


def messages_of(request: Request) -> tuple[Message, ...]:
    """The messages of a request.

    Raises:
        RenderError: the request has none.
    """
    if not request.messages:
        raise RenderError("the request has no messages")
    return request.messages


def role_error(template: str, message: Message) -> RenderError:
    known = message.role in ROLES
    reason = f"has no place for role {message.role}" if known else "does not know the role of a message"
    return RenderError(f"the {template} template {reason}")


def tool_set_of(request: Request) -> ToolSet | None:
    """The tools of a request; an empty list counts as none, as in engines."""
    return request.tools if request.tools is not None and request.tools.tools else None


def content_pieces(message: Message, index: int) -> list[Piece]:
    """The content as engines flatten it, parts joined by a newline; nothing for null and empty content."""
    content = message.content
    if not content:
        return []
    if isinstance(content, str):
        return [Piece(content, Origin(f"messages[{index}].content", 0))]
    pieces: list[Piece] = []
    for number, part in enumerate(content):
        if number:
            pieces.append(literal("\n"))
        if part.text:
            pieces.append(Piece(part.text, Origin(f"messages[{index}].content[{number}].text", 0)))
    return pieces


def plain_turn(message: Hashable) -> tuple[str, str] | None:
    """Role and content, as logged, of a message that has nothing else to print; None for all others."""
    if not isinstance(message, Message) or message.tool_calls or message.reasoning is not None:
        return None
    return (message.role, message.content) if isinstance(message.content, str) else None


def reasoning_pieces(message: Message, index: int) -> list[Piece]:
    """The reasoning that came with an assistant's message."""
    if not message.reasoning:
        return []
    return [Piece(message.reasoning, Origin(f"messages[{index}].reasoning_content", 0))]


def sliced(pieces: list[Piece], start: int, stop: int) -> list[Piece]:
    """The pieces of ``text[start:stop]`` where ``text`` is what the pieces say together."""
    kept = []
    position = 0
    for text, origin in pieces:
        low, high = max(start - position, 0), min(stop - position, len(text))
        if low < high:
            kept.append(Piece(text[low:high], origin and Origin(origin.path, origin.start + low)))
        position += len(text)
    return kept


def stripped(
    pieces: list[Piece], chars: str | None = None, *, left: bool = True, right: bool = True
) -> list[Piece]:
    """The pieces without the characters (default: white space) at their common ends; origins move along."""
    kept = list(pieces)
    while left and kept:
        text, origin = kept[0]
        rest = text.lstrip(chars)
        if rest:
            moved = len(text) - len(rest)
            kept[0] = Piece(rest, origin and Origin(origin.path, origin.start + moved))
            break
        del kept[0]
    while right and kept:
        text, origin = kept[-1]
        rest = text.rstrip(chars)
        if rest:
            kept[-1] = Piece(rest, origin)
            break
        del kept[-1]
    return kept


def parse_json(raw: str) -> Any:
    """The value of a JSON text in key order; the text itself where it is no JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def dump_json(value: Any, indent: int | None = None) -> str:
    """JSON as the ``tojson`` filter of chat templates prints it."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def arguments_of(call: ToolCall) -> Any:
    """The arguments as engines hand them to a template: parsed; an empty text is an empty object."""
    return parse_json(call.arguments) if call.arguments else {}


def argument_piece(text: str, index: int, number: int) -> Piece:
    return Piece(text, Origin(f"messages[{index}].tool_calls[{number}].function.arguments", 0))


def name_piece(call: ToolCall, index: int, number: int) -> Piece:
    return Piece(call.name, Origin(f"messages[{index}].tool_calls[{number}].function.name", 0))


def tool_piece(tools: ToolSet, number: int, indent: int | None = None) -> Piece:
    """One tool definition, parsed and printed again in its logged key order."""
    return Piece(_printed(tools.tools[number], indent), Origin(f"tools[{number}]", 0))


@lru_cache(maxsize=1024)
def _printed(tool: Tool, indent: int | None) -> str:
    # A log that shuffles its tools has few of them in many orders.
    return dump_json(parse_json(tool.raw), indent)


@lru_cache(maxsize=4096)
def _day(number: int) -> date:
    return date(1970, 1, 1) + timedelta(days=number)


def request_day(request: Request) -> date | None:
    """The day (UTC) on which a request arrived: what a template sees as today. None without a usable time."""
    if request.arrival is None:
        return None
    try:
        return _day(int(request.arrival // 86400))
    except (OverflowError, ValueError):
        return None


@lru_cache(maxsize=256)
def _parsed_options(raw: str) -> dict[str, Any]:
    value = parse_json(raw)
    return value if isinstance(value, dict) else {}


def template_options(request: Request) -> dict[str, Any]:
    """The request's ``chat_template_kwargs``; do not change the result, it is shared."""
    raw = request.parameters.get("chat_template_kwargs")
    return _parsed_options(raw) if raw else {}
