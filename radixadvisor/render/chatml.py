"""Plain ChatML, for models whose template is not known or not public. It stands in; it is exact for none."""

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
    tool_piece,
    tool_set_of,
)

__all__ = ["AnthropicOrder", "GenericChatML"]

_TOOLS, _TURN, _GENERATE = range(3)
_GENERATION = Group((_GENERATE,), -1, 0)


class GenericChatML:
    """Tools, if any, in a first turn of their own; then every message as a turn under its role."""

    name = "chatml"
    exact = False
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = ("<|im_start|>", "<|im_end|>")

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        groups = [] if tools is None else [Group((_TOOLS, tools), -1, 0)]
        groups += [Group((_TURN, message), index, 1) for index, message in enumerate(messages)]
        groups.append(_GENERATION)
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _GENERATE:
            return [literal("<|im_start|>assistant\n")]
        if kind == _TOOLS:
            assert request.tools is not None
            return self._tools(request.tools)
        return self._turn(messages_of(request)[group.first], group.first)

    def plain(self, group: Group) -> Plain | None:
        turn = plain_turn(group.key[1]) if group.key[0] == _TURN else None
        if turn is None:
            return None
        role, content = turn
        return Plain(f"<|im_start|>{ROLES.get(role, role)}\n", content, "<|im_end|>\n")

    def _tools(self, tools: ToolSet) -> list[Piece]:
        pieces = [literal("<|im_start|>tools")]
        for number in range(len(tools.tools)):
            pieces += [literal("\n"), tool_piece(tools, number)]
        pieces.append(literal("<|im_end|>\n"))
        return pieces

    def _turn(self, message: Message, index: int) -> list[Piece]:
        content = content_pieces(message, index)
        pieces = [literal(f"<|im_start|>{ROLES.get(message.role, message.role)}\n"), *content]
        for number, call in enumerate(message.tool_calls):
            pieces += [
                literal('\n{"name": "' if number or content else '{"name": "'),
                name_piece(call, index, number),
                literal('", "arguments": '),
                argument_piece(dump_json(arguments_of(call)), index, number),
                literal("}"),
            ]
        pieces.append(literal("<|im_end|>\n"))
        return pieces


class AnthropicOrder(GenericChatML):
    """Anthropic's documented order: tools, then the system prompt, then the messages."""

    name = "anthropic"

    def groups(self, request: Request) -> list[Group]:
        groups = super().groups(request)
        # A system message may stand anywhere in a converted log; the API takes all of them ahead of the rest.
        return sorted(groups, key=self._place)

    @staticmethod
    def _place(group: Group) -> int:
        kind = group.key[0]
        if kind == _TOOLS:
            return 0
        if kind == _GENERATE:
            return 3
        message = group.key[1]
        assert isinstance(message, Message)
        return 1 if ROLES.get(message.role) == "system" else 2
