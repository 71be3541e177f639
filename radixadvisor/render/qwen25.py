"""Qwen2.5: ChatML with a default system prompt, tools inside the system turn, tool results in a user turn."""

from __future__ import annotations

from radixadvisor.records import Message, Request, ToolSet
from radixadvisor.render.base import Group, Piece, Plain
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
    role_error,
    tool_piece,
    tool_set_of,
)

__all__ = ["Qwen25", "chatml_tools", "tool_result_pieces"]

DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

_TOOLS_BEFORE = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)

_HEAD, _TURN, _RESULTS, _GENERATE = range(4)


def chatml_tools(tools: ToolSet) -> list[Piece]:
    """The tools section that Qwen2.5 and Qwen3 share: one definition a line between fixed instructions."""
    pieces = [literal(_TOOLS_BEFORE)]
    for number in range(len(tools.tools)):
        pieces += [literal("\n"), tool_piece(tools, number)]
    pieces.append(literal(_TOOLS_AFTER))
    return pieces


def tool_result_pieces(messages: tuple[Message, ...], first: int, size: int) -> list[Piece]:
    """A run of tool results, folded into one user turn."""
    pieces = [literal("<|im_start|>user")]
    for index in range(first, first + size):
        pieces.append(literal("\n<tool_response>\n"))
        pieces += content_pieces(messages[index], index)
        pieces.append(literal("\n</tool_response>"))
    pieces.append(literal("<|im_end|>\n"))
    return pieces


class Qwen25:
    """The template of Qwen2.5 Instruct models."""

    name = "qwen2.5"
    exact = True
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        index = 0
        if ROLES.get(messages[0].role) == "system":
            groups = [Group((_HEAD, tools, messages[0]), 0, 1)]
            index = 1
        else:
            groups = [Group((_HEAD, tools), -1, 0)]
        count = len(messages)
        while index < count:
            message = messages[index]
            role = ROLES.get(message.role)
            if role == "tool":
                end = index + 1
                while end < count and ROLES.get(messages[end].role) == "tool":
                    end += 1
                groups.append(Group((_RESULTS, *messages[index:end]), index, end - index))
                index = end
            elif role is None:
                raise role_error(self.name, message)
            else:
                groups.append(Group((_TURN, message), index, 1))
                index += 1
        groups.append(_GENERATION)
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _GENERATE:
            return [literal("<|im_start|>assistant\n")]
        messages = messages_of(request)
        if kind == _RESULTS:
            return tool_result_pieces(messages, group.first, group.size)
        if kind == _HEAD:
            return self._head(messages, tool_set_of(request), group)
        return self._turn(messages[group.first], group.first)

    def plain(self, group: Group) -> Plain | None:
        turn = plain_turn(group.key[1]) if group.key[0] == _TURN else None
        if turn is None:
            return None
        role, content = turn
        return Plain(f"<|im_start|>{ROLES[role]}\n", content, "<|im_end|>\n")

    def _head(self, messages: tuple[Message, ...], tools: ToolSet | None, group: Group) -> list[Piece]:
        pieces = [literal("<|im_start|>system\n")]
        if group.size:
            pieces += content_pieces(messages[0], 0)
        else:
            pieces.append(literal(DEFAULT_SYSTEM))
        if tools is not None:
            pieces += [literal("\n\n"), *chatml_tools(tools)]
        pieces.append(literal("<|im_end|>\n"))
        return pieces

    def _turn(self, message: Message, index: int) -> list[Piece]:
        role = ROLES[message.role]
        content = content_pieces(message, index)
        if role != "assistant" or not message.tool_calls:
            return [literal(f"<|im_start|>{role}\n"), *content, literal("<|im_end|>\n")]
        pieces = [literal("<|im_start|>assistant")]
        if content:
            pieces += [literal("\n"), *content]
        for number, call in enumerate(message.tool_calls):
            pieces += [
                literal('\n<tool_call>\n{"name": "'),
                name_piece(call, index, number),
                literal('", "arguments": '),
                argument_piece(dump_json(arguments_of(call)), index, number),
                literal("}\n</tool_call>"),
            ]
        pieces.append(literal("<|im_end|>\n"))
        return pieces


_GENERATION = Group((_GENERATE,), -1, 0)
