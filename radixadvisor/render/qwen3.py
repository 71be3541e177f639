"""Qwen3: ChatML without a default system prompt; reasoning is kept only after the last real question."""

from __future__ import annotations

from radixadvisor.records import Message, Request, ToolSet
from radixadvisor.render.base import Group, Piece, Plain
from radixadvisor.render.qwen25 import chatml_tools, tool_result_pieces
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
    reasoning_pieces,
    role_error,
    sliced,
    stripped,
    template_options,
    tool_set_of,
)

__all__ = ["Qwen3"]

# An assistant turn is printed in one of three ways: up to the last question without its reasoning, behind it
# with reasoning if it has any, and as the very last message always with a think block.
_HEAD, _RESULTS, _GENERATE, _TURN, _BEHIND, _LAST = range(6)


def _asks(message: Message) -> bool:
    """Whether a user message is a question of its own and not a tool result in disguise."""
    text = message.content if isinstance(message.content, str) else message.text
    return not (text.startswith("<tool_response>") and text.endswith("</tool_response>"))


def _last_question(messages: tuple[Message, ...]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and _asks(messages[index]):
            return index
    return len(messages) - 1


class Qwen3:
    """The template of Qwen3 models with switchable thinking (``chat_template_kwargs.enable_thinking``)."""

    name = "qwen3"
    exact = True
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = (
        "<|im_start|>",
        "<|im_end|>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
        "<think>",
        "</think>",
    )

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        tools = tool_set_of(request)
        groups = []
        index = 0
        if ROLES.get(messages[0].role) == "system":
            groups.append(Group((_HEAD, tools, messages[0]), 0, 1))
            index = 1
        elif tools is not None:
            groups.append(Group((_HEAD, tools), -1, 0))
        count = len(messages)
        question = _last_question(messages)
        while index < count:
            message = messages[index]
            role = ROLES.get(message.role)
            if role == "tool":
                end = index + 1
                while end < count and ROLES.get(messages[end].role) == "tool":
                    end += 1
                groups.append(Group((_RESULTS, *messages[index:end]), index, end - index))
                index = end
                continue
            kind = _TURN
            if role is None:
                raise role_error(self.name, message)
            if role == "assistant" and index > question:
                kind = _LAST if index == count - 1 else _BEHIND
            groups.append(Group((kind, message), index, 1))
            index += 1
        thinks = template_options(request).get("enable_thinking") is not False
        groups.append(Group((_GENERATE, thinks), -1, 0))
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        kind = group.key[0]
        if kind == _GENERATE:
            block = "" if group.key[1] else "<think>\n\n</think>\n\n"
            return [literal("<|im_start|>assistant\n" + block)]
        messages = messages_of(request)
        if kind == _RESULTS:
            return tool_result_pieces(messages, group.first, group.size)
        if kind == _HEAD:
            return self._head(messages, tool_set_of(request), group)
        message = messages[group.first]
        if ROLES[message.role] == "assistant":
            return self._answer(message, group.first, kind)
        content = content_pieces(message, group.first)
        return [literal(f"<|im_start|>{ROLES[message.role]}\n"), *content, literal("<|im_end|>\n")]

    def plain(self, group: Group) -> Plain | None:
        kind = group.key[0]
        turn = plain_turn(group.key[1]) if kind in (_TURN, _BEHIND, _LAST) else None
        if turn is None:
            return None
        role, content = turn
        opening = f"<|im_start|>{ROLES[role]}\n"
        if ROLES[role] == "assistant":
            if "</think>" in content:
                return None
            if kind == _LAST:
                opening, content = opening + "<think>\n\n</think>\n\n", content.lstrip("\n")
        return Plain(opening, content, "<|im_end|>\n")

    def _head(self, messages: tuple[Message, ...], tools: ToolSet | None, group: Group) -> list[Piece]:
        pieces = [literal("<|im_start|>system\n")]
        if group.size:
            pieces += content_pieces(messages[0], 0)
        if tools is not None:
            pieces += [literal("\n\n")] if group.size else []
            pieces += chatml_tools(tools)
        pieces.append(literal("<|im_end|>\n"))
        return pieces

    def _answer(self, message: Message, index: int, kind: object) -> list[Piece]:
        content = content_pieces(message, index)
        reasoning = reasoning_pieces(message, index)
        if message.reasoning is None:
            reasoning, content = _split_thought(content)
        pieces = [literal("<|im_start|>assistant\n")]
        if kind == _LAST or (kind == _BEHIND and reasoning):
            thought = stripped(reasoning, "\n")
            answer = stripped(content, "\n", right=False)
            pieces += [literal("<think>\n"), *thought, literal("\n</think>\n\n"), *answer]
        else:
            pieces += content
        for number, call in enumerate(message.tool_calls):
            if number or content:
                pieces.append(literal("\n"))
            arguments = arguments_of(call)
            text = arguments if isinstance(arguments, str) else dump_json(arguments)
            pieces += [
                literal('<tool_call>\n{"name": "'),
                name_piece(call, index, number),
                literal('", "arguments": '),
                argument_piece(text, index, number),
                literal("}\n</tool_call>"),
            ]
        pieces.append(literal("<|im_end|>\n"))
        return pieces


def _split_thought(content: list[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Reasoning and answer of a content that may carry a think block."""
    text = "".join(piece.text for piece in content)
    first_close = text.find("</think>")
    if first_close < 0:
        return [], content
    before = text[:first_close].rstrip("\n")
    opened = before.rfind("<think>")
    start = 0 if opened < 0 else opened + len("<think>")
    thought = stripped(sliced(content, start, len(before)), "\n", right=False)
    answer = sliced(content, text.rfind("</think>") + len("</think>"), len(text))
    return thought, stripped(answer, "\n", right=False)
