"""DeepSeek V3.1, and with the tools in its head a stand-in for releases whose template is not public."""

from __future__ import annotations

from radixadvisor.records import Message, Request
from radixadvisor.render.base import Group, Piece
from radixadvisor.render.deepseek import (
    ASSISTANT,
    CALL,
    CALL_END,
    CALLS,
    CALLS_END,
    EOS,
    HEAD,
    OUTPUT,
    OUTPUT_END,
    SEP,
    USER,
    USER_TURN,
    DeepSeekV3,
    State,
    Turn,
    after_mark,
)
from radixadvisor.render.text import (
    argument_piece,
    content_pieces,
    literal,
    name_piece,
    template_options,
    tool_piece,
    tool_set_of,
)

__all__ = ["DeepSeekTools", "DeepSeekV31"]


class DeepSeekV31(DeepSeekV3):
    """The template of DeepSeek V3.1 (``chat_template_kwargs.thinking``)."""

    name = "deepseek-v3.1"
    notes: tuple[str, ...] = ("DeepSeek's own template prints no tool definitions.",)
    added_tokens: tuple[str, ...] = (*DeepSeekV3.added_tokens, "<think>", "</think>")

    def _turn(self, state: State, message: Message, role: str) -> Turn | None:
        asked, state.after_user = state.after_user, role == "user"
        after_tool, state.after_tool = state.after_tool, role == "tool"
        if role == "user":
            return USER_TURN
        if role == "tool":
            return Turn("output", False, False)
        if message.tool_calls:
            return Turn("asked calls" if asked else "calls", not asked, False)
        form = "answer after tool" if after_tool else "answer"
        return Turn("asked " + form if asked else form, not asked, False)

    def _ending(self, state: State, request: Request) -> str:
        if not state.after_user:
            return ""
        return ASSISTANT + ("<think>" if template_options(request).get("thinking") else "</think>")

    def _text(self, form: str, message: Message, index: int) -> list[Piece]:
        content = content_pieces(message, index)
        if form == "user":
            return [literal(USER), *content]
        if form == "output":
            return [literal(OUTPUT), *content, literal(OUTPUT_END)]
        pieces = [literal(f"{ASSISTANT}</think>")] if form.startswith("asked") else []
        if form.endswith("answer after tool"):
            return [*pieces, *content, literal(EOS)]
        if form.endswith("answer"):
            return [*pieces, *after_mark(content, "</think>", last=False), literal(EOS)]
        pieces += [*content, literal(CALLS)]
        for number, call in enumerate(message.tool_calls):
            name, arguments = name_piece(call, index, number), argument_piece(call.arguments, index, number)
            pieces += [literal(CALL), name, literal(SEP), arguments, literal(CALL_END)]
        return [*pieces, literal(CALLS_END + EOS)]


class DeepSeekTools(DeepSeekV31):
    """V3.1 with the tools behind the system prompts: a stand-in where the real place is unknown."""

    name = "deepseek-tools"
    exact = False
    notes: tuple[str, ...] = ()

    def _head_group(self, request: Request, systems: list[Message]) -> Group:
        return Group((HEAD, (tool_set_of(request), *systems)), -1, 0)

    def _head(self, request: Request) -> list[Piece]:
        pieces = super()._head(request)
        tools = tool_set_of(request)
        if tools is not None:
            pieces.append(literal("\n\n## Tools\n"))
            for number in range(len(tools.tools)):
                pieces += [literal("\n"), tool_piece(tools, number)]
        return pieces
