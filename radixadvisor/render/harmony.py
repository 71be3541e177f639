"""gpt-oss in the harmony format: a system turn with the date, a developer turn with tools, then channels."""

from __future__ import annotations

from radixadvisor.records import Message, Request, ToolSet
from radixadvisor.render.base import Group, Origin, Piece
from radixadvisor.render.text import (
    ROLES,
    argument_piece,
    content_pieces,
    dump_json,
    literal,
    messages_of,
    name_piece,
    parse_json,
    reasoning_pieces,
    request_day,
    role_error,
    template_options,
    tool_set_of,
)

__all__ = ["Harmony"]

FIXED_DATE = "2025-08-05"

_SYSTEM, _DEVELOPER, _TURN, _THINKING, _RESULT, _GENERATE = range(6)
_GENERATION = Group((_GENERATE,), -1, 0)


class Harmony:
    """The harmony format of gpt-oss; ``reasoning_effort`` and the day of the request enter the head."""

    name = "gpt-oss"
    exact = False
    notes: tuple[str, ...] = (
        "The harmony format could not be compared with a reference; tools are printed as JSON schemas.",
    )
    added_tokens: tuple[str, ...] = (
        *("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>", "<|constrain|>"),
    )

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        day = request_day(request)
        today = day.isoformat() if day else FIXED_DATE
        groups = [Group((_SYSTEM, today, _effort(request), tools is not None), -1, 0)]
        index = 1 if ROLES.get(messages[0].role) == "system" else 0
        if index or tools is not None:
            groups.append(Group((_DEVELOPER, tools, *messages[:index]), index - 1, index))
        final = _last_final(messages)
        called: dict[str | None, str] = {}
        for position in range(index, len(messages)):
            message = messages[position]
            role = ROLES.get(message.role)
            if role is None:
                raise role_error(self.name, message)
            if role == "tool":
                name = message.name or called.get(message.tool_call_id, "tool")
                groups.append(Group((_RESULT, message, name), position, 1))
                continue
            for call in message.tool_calls:
                called[call.id] = call.name
            thinks = bool(message.tool_calls) and position > final
            groups.append(Group((_THINKING if thinks else _TURN, message), position, 1))
        groups.append(_GENERATION)
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _GENERATE:
            return [literal("<|start|>assistant")]
        if kind == _SYSTEM:
            return [literal(_system_text(*group.key[1:]))]
        messages = messages_of(request)
        if kind == _DEVELOPER:
            return self._developer(messages, tool_set_of(request), group.size)
        message = messages[group.first]
        content = content_pieces(message, group.first)
        if kind == _RESULT:
            opening = f"<|start|>functions.{group.key[2]} to=assistant<|channel|>commentary<|message|>"
            return [literal(opening), *content, literal("<|end|>")]
        role = ROLES[message.role]
        if role != "assistant":
            name = "developer" if role == "system" else role
            return [literal(f"<|start|>{name}<|message|>"), *content, literal("<|end|>")]
        thought = reasoning_pieces(message, group.first) if kind == _THINKING else []
        return _answer(message, group.first, thought)

    def _developer(self, messages: tuple[Message, ...], tools: ToolSet | None, size: int) -> list[Piece]:
        pieces = [literal("<|start|>developer<|message|>")]
        if size:
            pieces += [literal("# Instructions\n\n"), *content_pieces(messages[0], 0)]
        if tools is not None:
            opening = "# Tools\n\n## functions\n\nnamespace functions {\n\n"
            pieces.append(literal("\n\n" + opening if size else opening))
            for number in range(len(tools.tools)):
                pieces += _declaration(tools, number)
            pieces.append(literal("} // namespace functions"))
        return [*pieces, literal("<|end|>")]


def _last_final(messages: tuple[Message, ...]) -> int:
    """The place of the last assistant message without calls or -1: reasoning before it is dropped."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant" and not messages[index].tool_calls:
            return index
    return -1


def _effort(request: Request) -> str:
    raw = request.parameters.get("reasoning_effort")
    value = parse_json(raw) if raw else template_options(request).get("reasoning_effort")
    return value if isinstance(value, str) else "medium"


def _system_text(today: object, effort: object, with_tools: object) -> str:
    text = (
        "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
        f"Knowledge cutoff: 2024-06\nCurrent date: {today}\n\nReasoning: {effort}\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for every message."
    )
    if with_tools:
        text += "\nCalls to these tools must go to the commentary channel: 'functions'."
    return text + "<|end|>"


def _declaration(tools: ToolSet, number: int) -> list[Piece]:
    tool = tools.tools[number]
    value = parse_json(tool.raw)
    function = value.get("function", value) if isinstance(value, dict) else value
    fields = function if isinstance(function, dict) else {}
    description = str(fields.get("description") or "")
    schema = fields.get("parameters", fields.get("input_schema"))
    text = f"// {description}\n" if description else ""
    text += f"type {tool.name} = ({f'_: {dump_json(schema)}' if schema else ''}) => any;\n\n"
    return [Piece(text, Origin(f"tools[{number}]", 0))]


def _answer(message: Message, index: int, thought: list[Piece]) -> list[Piece]:
    pieces: list[Piece] = []
    if thought:
        opening = literal("<|start|>assistant<|channel|>analysis<|message|>")
        pieces += [opening, *thought, literal("<|end|>")]
    content = content_pieces(message, index)
    if content or not message.tool_calls:
        channel = "commentary" if message.tool_calls else "final"
        opening = literal(f"<|start|>assistant<|channel|>{channel}<|message|>")
        pieces += [opening, *content, literal("<|end|>")]
    for number, call in enumerate(message.tool_calls):
        pieces += [
            literal("<|start|>assistant to=functions."),
            name_piece(call, index, number),
            literal("<|channel|>commentary json<|message|>"),
            argument_piece(call.arguments, index, number),
            literal("<|call|>"),
        ]
    return pieces
