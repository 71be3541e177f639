"""Llama 3.1, 3.2 and 3.3: header tokens, a date in the system turn, tools inside the first user turn."""

from __future__ import annotations

from collections.abc import Hashable

from radixadvisor.records import Message, Request, ToolSet
from radixadvisor.render.base import Group, Origin, Piece, Plain, RenderError
from radixadvisor.render.text import (
    ROLES,
    argument_piece,
    arguments_of,
    content_pieces,
    dump_json,
    literal,
    messages_of,
    name_piece,
    plain_turn,
    request_day,
    stripped,
    template_options,
    tool_piece,
    tool_set_of,
)

__all__ = ["Llama31", "Llama32", "Llama33"]

FIXED_DATE = "26 Jul 2024"

_CALL_FORMAT = (
    'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
    "Do not use variables.\n\n"
)
_TOOLS_IN_SYSTEM = (
    "You have access to the following functions. To call a function, please respond with JSON for a function "
    "call."
)
_TOOLS_IN_USER = (
    "Given the following functions, please respond with a JSON for a function call with its proper arguments "
    "that best answers the given prompt.\n\n"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_HEAD, _FIRST_USER, _TURN, _GENERATE = range(4)


def _header(role: str) -> Piece:
    return literal(f"<|start_header_id|>{role}<|end_header_id|>\n\n")


class Llama31:
    """The template of Llama 3.1 (``chat_template_kwargs``: ``date_string``, ``tools_in_user_message``)."""

    name = "llama3.1"
    exact = True
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = (
        "<|begin_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|python_tag|>",
    )

    def __init__(self, name: str = "llama3.1") -> None:
        self.name = name

    def _today(self, request: Request) -> str:
        return FIXED_DATE

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        options = template_options(request)
        today = str(options.get("date_string") or self._today(request))
        with_user = tools is not None and options.get("tools_in_user_message", True) is not False
        index = 1 if ROLES.get(messages[0].role) == "system" else 0
        in_system: Hashable = tools if not with_user else True
        groups = [Group((_HEAD, today, in_system, *messages[:index]), index - 1, index)]
        if with_user:
            if index == len(messages):
                raise RenderError("the Llama template puts tools into the first user message; there is none")
            groups.append(Group((_FIRST_USER, tools, messages[index]), index, 1))
            index += 1
        for position in range(index, len(messages)):
            message = messages[position]
            if len(message.tool_calls) > 1:
                raise RenderError("the Llama template takes one tool call per message")
            groups.append(Group((_TURN, message), position, 1))
        groups.append(_GENERATION)
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _GENERATE:
            return [_header("assistant")]
        messages = messages_of(request)
        tools = tool_set_of(request)
        if kind == _HEAD:
            return self._head(messages, tools, group)
        message = messages[group.first]
        if kind == _FIRST_USER:
            assert tools is not None
            content = stripped(content_pieces(message, group.first))
            pieces = [_header("user"), literal(_TOOLS_IN_USER + _CALL_FORMAT), *_tool_list(tools)]
            return [*pieces, *content, literal("<|eot_id|>")]
        return self._turn(message, group.first)

    def plain(self, group: Group) -> Plain | None:
        turn = plain_turn(group.key[1]) if group.key[0] == _TURN else None
        if turn is None or ROLES.get(turn[0]) == "tool":
            return None
        role, content = turn
        return Plain(_header(ROLES.get(role, role)).text, content.strip(), "<|eot_id|>")

    def _head(self, messages: tuple[Message, ...], tools: ToolSet | None, group: Group) -> list[Piece]:
        _, today, in_system = group.key[:3]
        pieces = [literal("<|begin_of_text|>"), _header("system")]
        if tools is not None:
            pieces.append(literal("Environment: ipython\n"))
        pieces.append(literal(f"Cutting Knowledge Date: December 2023\nToday Date: {today}\n\n"))
        if tools is not None and in_system is not True:
            pieces += [literal(_TOOLS_IN_SYSTEM + _CALL_FORMAT), *_tool_list(tools)]
        if group.size:
            pieces += stripped(content_pieces(messages[0], 0))
        return [*pieces, literal("<|eot_id|>")]

    def _turn(self, message: Message, index: int) -> list[Piece]:
        role = ROLES.get(message.role, message.role)
        if message.tool_calls:
            call = message.tool_calls[0]
            return [
                _header("assistant"),
                literal('{"name": "'),
                name_piece(call, index, 0),
                literal('", "parameters": '),
                argument_piece(dump_json(arguments_of(call)), index, 0),
                literal("}<|eot_id|>"),
            ]
        if role == "tool":
            # A string counts as iterable in the template, so a result is printed as a JSON string.
            result = Piece(dump_json(message.text), Origin(f"messages[{index}].content", 0))
            return [_header("ipython"), result, literal("<|eot_id|>")]
        return [_header(role), *stripped(content_pieces(message, index)), literal("<|eot_id|>")]


def _tool_list(tools: ToolSet) -> list[Piece]:
    pieces = []
    for number in range(len(tools.tools)):
        pieces += [tool_piece(tools, number, indent=4), literal("\n\n")]
    return pieces


class Llama33(Llama31):
    """Llama 3.3, whose template is taken to be that of 3.1."""

    exact = False
    notes: tuple[str, ...] = ("Llama 3.3's template is taken to be Llama 3.1's; no reference confirms it.",)

    def __init__(self) -> None:
        super().__init__("llama3.3")


class Llama32(Llama31):
    """The template of Llama 3.2: as 3.1, but today is the day of the request (UTC)."""

    exact = False
    notes: tuple[str, ...] = ("Llama 3.2's template could not be compared with the model's own.",)

    def __init__(self) -> None:
        super().__init__("llama3.2")

    def _today(self, request: Request) -> str:
        day = request_day(request)
        return f"{day.day:02d} {_MONTHS[day.month - 1]} {day.year}" if day else FIXED_DATE


_GENERATION = Group((_GENERATE,), -1, 0)
