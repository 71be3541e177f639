"""Mistral's instruct formats v3 (Nemo, Ministral, Pixtral) and v7 (Small 3): there is no generation prompt.

Runs of user messages and of assistant messages are one turn, joined by a blank line, and so are the parts of
a content. In v3 the system prompts stand in the last user turn; the tools do in both. Text that looks like a
control token counts as one here, as under the models' Jinja templates; mistral-common reads none from text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from radixadvisor.records import Message, Request, Tool, ToolSet
from radixadvisor.render.base import Group, Origin, Piece, RenderError
from radixadvisor.render.text import (
    ROLES,
    argument_piece,
    arguments_of,
    content_pieces,
    dump_json,
    literal,
    messages_of,
    parse_json,
    role_error,
    stripped,
    tool_set_of,
)

__all__ = ["MistralV3", "MistralV7"]

_BOS, _SYSTEM, _USER, _LAST_USER, _ASSISTANT, _RESULT = range(6)
_JOINT = "\n\n"


class MistralV3:
    """Version 3 on the Tekken vocabulary, as mistral-common encodes it."""

    name = "mistral-v3"
    exact = True
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = (
        *("<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        *("[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    )
    _separate_system = False

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        runs = self._runs(messages)
        systems = () if self._separate_system else tuple(m for m in messages if ROLES[m.role] == "system")
        last_user = max((place for place, (role, _, _) in enumerate(runs) if role == "user"), default=-1)
        groups = [Group((_BOS,), -1, 0)]
        for place, (role, first, size) in enumerate(runs):
            run = messages[first : first + size] if size else ()
            if role == "user" and place == last_user:
                groups.append(Group((_LAST_USER, tools, systems, *run), first, size))
            elif role == "user":
                groups.append(Group((_USER, *run), first, size))
            elif role == "assistant":
                self._check(run)
                groups.append(Group((_ASSISTANT, *run), first, size))
            elif role == "tool":
                if run[0].tool_call_id is None:
                    raise RenderError("the Mistral template needs the call id of a tool result")
                groups.append(Group((_RESULT, *run), first, size))
            else:
                groups.append(Group((_SYSTEM, *run), first, size))
        return groups

    def _runs(self, messages: tuple[Message, ...]) -> list[tuple[str, int, int]]:
        """Turns as (role, first message, messages); the first is a user's, an empty one if need be."""
        runs: list[tuple[str, int, int]] = []
        before = None
        for index, message in enumerate(messages):
            role = ROLES.get(message.role)
            if role is None:
                raise role_error(self.name, message)
            if role == before and role in ("user", "assistant"):
                _, first, size = runs[-1]
                runs[-1] = (role, first, size + 1)
            elif role != "system" or self._separate_system:
                runs.append((role, index, 1))
            before = role
        if not runs or (not self._separate_system and runs[0][0] != "user"):
            runs.insert(0, ("user", -1, 0))
        return runs

    def _check(self, run: tuple[Message, ...]) -> None:
        calls = any(message.tool_calls for message in run)
        content = any(_has_text(message) for message in run)
        if calls and content and not self._separate_system:
            raise RenderError("the Mistral v3 template takes either content or tool calls in a turn")
        if not calls and not content:
            raise RenderError("the Mistral template rejects an empty assistant message")

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _BOS:
            return [literal("<s>")]
        messages = messages_of(request)
        span = range(group.first, group.first + group.size)
        if kind == _RESULT:
            return self._result(messages, group.first)
        if kind == _ASSISTANT:
            return _assistant(messages, span)
        content = _joined(messages, span)
        if kind == _SYSTEM:
            return [literal("[SYSTEM_PROMPT]"), *content, literal("[/SYSTEM_PROMPT]")]
        pieces = []
        if kind == _LAST_USER:
            pieces = _tool_list(tool_set_of(request))
            if not self._separate_system:
                places = [i for i, message in enumerate(messages) if ROLES[message.role] == "system"]
                system = _joined(messages, places)
                content = [*system, literal(_JOINT), *content] if system else content
        return [*pieces, literal("[INST]"), *content, literal("[/INST]")]

    def _result(self, messages: tuple[Message, ...], index: int) -> list[Piece]:
        content = _joined(messages, [index])
        value = parse_json("".join(piece.text for piece in content)) if content else {}
        return [
            literal('[TOOL_RESULTS]{"content": '),
            Piece(dump_json(value), Origin(f"messages[{index}].content", 0)),
            literal(f', "call_id": {dump_json(messages[index].tool_call_id)}}}[/TOOL_RESULTS]'),
        ]


class MistralV7(MistralV3):
    """Version 7 on a Tekken vocabulary: system turns of their own, results as they are."""

    name = "mistral-v7"
    added_tokens: tuple[str, ...] = (
        *MistralV3.added_tokens,
        *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
    )
    _separate_system = True

    def _result(self, messages: tuple[Message, ...], index: int) -> list[Piece]:
        return [
            literal(f"[TOOL_RESULTS]{messages[index].tool_call_id}[TOOL_CONTENT]"),
            *_joined(messages, [index]),
            literal("[/TOOL_RESULTS]"),
        ]


def _has_text(message: Message) -> bool:
    content = message.content
    return bool(content) if content is None or isinstance(content, str) else any(p.text for p in content)


def _joined(messages: tuple[Message, ...], places: Iterable[int]) -> list[Piece]:
    """The contents of several messages and of their parts, joined by blank lines, the empty ones left out."""
    pieces: list[Piece] = []
    for index in places:
        for piece in content_pieces(messages[index], index):
            if piece.origin is not None:
                pieces += [literal(_JOINT), piece] if pieces else [piece]
    return pieces


def _assistant(messages: tuple[Message, ...], span: range) -> list[Piece]:
    pieces = stripped(_joined(messages, span), " ", left=False)
    calls = [(index, number) for index in span for number in range(len(messages[index].tool_calls))]
    for position, (index, number) in enumerate(calls):
        call = messages[index].tool_calls[number]
        pieces += [
            literal(", " if position else "[TOOL_CALLS]["),
            literal(f'{{"name": {dump_json(call.name)}, "arguments": '),
            argument_piece(dump_json(arguments_of(call)), index, number),
            literal(f', "id": {dump_json(call.id)}}}' if call.id and call.id != "null" else "}"),
        ]
    return [*pieces, literal("]</s>" if calls else "</s>")]


def _tool_list(tools: ToolSet | None) -> list[Piece]:
    if tools is None:
        return []
    pieces = [literal("[AVAILABLE_TOOLS][")]
    for number, tool in enumerate(tools.tools):
        pieces += [literal(", ")] if number else []
        pieces.append(Piece(dump_json(_as_mistral(tool)), Origin(f"tools[{number}]", 0)))
    return [*pieces, literal("][/AVAILABLE_TOOLS]")]


def _as_mistral(tool: Tool) -> Any:
    """A tool in the fields and the order that mistral-common prints."""
    value = parse_json(tool.raw)
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        return value
    ordered = {
        "name": tool.name,
        "description": function.get("description") or "",
        "parameters": function.get("parameters") or {},
    }
    return {"type": "function", "function": ordered}
