"""DeepSeek V3 and R1: system prompts first, then turns marked by tokens, closed only after an answer.

What a message prints depends on what came before it (was the last message a tool result, was there a call
already). Some turns begin with plain text behind a turn that ends in plain text; those share a group.
"""

from __future__ import annotations

from typing import NamedTuple

from radixadvisor.records import Message, Request, ToolCall
from radixadvisor.render.base import Group, Piece
from radixadvisor.render.text import (
    ROLES,
    argument_piece,
    content_pieces,
    literal,
    messages_of,
    name_piece,
    role_error,
    sliced,
)

__all__ = ["DeepSeekR1", "DeepSeekV3", "State", "Turn", "after_mark"]

BOS, EOS = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
USER, ASSISTANT = "<｜User｜>", "<｜Assistant｜>"
CALLS, CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, CALL_END, SEP = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
OUTPUTS, OUTPUTS_END = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"
OUTPUT, OUTPUT_END = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"

HEAD, END = "head", "end"


class Turn(NamedTuple):
    """How one message is printed: its form, whether its text may begin or end outside of added tokens."""

    form: str
    bare_start: bool
    bare_end: bool


class State:
    """What the template remembers from message to message."""

    __slots__ = ("after_tool", "after_user", "called", "returned")

    def __init__(self) -> None:
        self.after_tool = self.after_user = self.called = self.returned = False


USER_TURN = Turn("user", False, True)


class DeepSeekV3:
    """The template of DeepSeek V3. It prints no tool definitions, and calls only of messages with null
    content.
    """

    name = "deepseek-v3"
    exact = True
    notes: tuple[str, ...] = (
        "DeepSeek V3's own template prints no tool definitions and drops the calls of messages with content.",
    )
    added_tokens: tuple[str, ...] = (
        *(BOS, EOS, USER, ASSISTANT, CALLS, CALLS_END, CALL, CALL_END),
        *(SEP, OUTPUTS, OUTPUTS_END, OUTPUT, OUTPUT_END),
    )

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        state = State()
        turns: list[tuple[int, Message, Turn]] = []
        systems = []
        for index, message in enumerate(messages):
            role = ROLES.get(message.role)
            if role is None:
                raise role_error(self.name, message)
            if role == "system":
                systems.append(message)
                continue
            turn = self._turn(state, message, role)
            if turn is not None:
                turns.append((index, message, turn))
        groups = [self._head_group(request, systems)]
        bare = True
        for index, message, turn in turns:
            if bare and turn.bare_start:
                key, first, size = groups[-1]
                size = index + 1 - first if first >= 0 else index + 1
                groups[-1] = Group((*key, turn.form, message), max(first, 0), size)
            else:
                groups.append(Group((turn.form, message), index, 1))
            bare = turn.bare_end
        ending = self._ending(state, request)
        if ending:
            groups.append(Group((END, ending), -1, 0))
        return groups

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        form = group.key[0]
        if form == END:
            return [literal(str(group.key[1]))]
        messages = messages_of(request)
        pieces: list[Piece] = []
        forms = group.key
        if form == HEAD:
            pieces, forms = self._head(request), group.key[2:]
        index = max(group.first, 0)
        for position in range(0, len(forms), 2):
            message = forms[position + 1]
            while messages[index] is not message or ROLES[messages[index].role] == "system":
                index += 1
            pieces += self._text(str(forms[position]), messages[index], index)
            index += 1
        return pieces

    def _head_group(self, request: Request, systems: list[Message]) -> Group:
        return Group((HEAD, tuple(systems)), -1, 0)

    def _head(self, request: Request) -> list[Piece]:
        messages = messages_of(request)
        pieces = [literal(BOS)]
        systems = [index for index, message in enumerate(messages) if ROLES[message.role] == "system"]
        for place, index in enumerate(systems):
            pieces += [literal("\n\n")] if place else []
            pieces += content_pieces(messages[index], index)
        return pieces

    def _turn(self, state: State, message: Message, role: str) -> Turn | None:
        if role == "user":
            state.after_tool = False
            return USER_TURN
        if role == "tool":
            state.after_tool = True
            first, state.returned = not state.returned, True
            return Turn("outputs" if first else "output", not first, False)
        after_tool, state.after_tool = state.after_tool, False
        if message.content is not None:
            return Turn("answer after tool" if after_tool else "answer", False, False)
        if not message.tool_calls:
            return None
        first, state.called = not state.called, True
        return Turn("calls" if first else "more calls", not first, False)

    def _ending(self, state: State, request: Request) -> str:
        return OUTPUTS_END if state.after_tool else ASSISTANT

    def _text(self, form: str, message: Message, index: int) -> list[Piece]:
        content = content_pieces(message, index)
        if form == "user":
            return [literal(USER), *content]
        if form in ("output", "outputs"):
            before = OUTPUTS if form == "outputs" else "\n"
            return [literal(before + OUTPUT), *content, literal(OUTPUT_END)]
        if form.startswith("answer"):
            return [literal(OUTPUTS_END if form != "answer" else ASSISTANT), *content, literal(EOS)]
        pieces: list[Piece] = []
        for number, call in enumerate(message.tool_calls):
            opens = number == 0 and form == "calls"
            pieces += [literal(ASSISTANT + CALLS if opens else "\n"), *_fenced_call(call, index, number)]
            pieces += [] if opens else [literal(CALLS_END + EOS)]
        return pieces


def _fenced_call(call: ToolCall, index: int, number: int) -> list[Piece]:
    return [
        literal(f"{CALL}function{SEP}"),
        name_piece(call, index, number),
        literal("\n```json\n"),
        argument_piece(call.arguments, index, number),
        literal(f"\n```{CALL_END}"),
    ]


class DeepSeekR1(DeepSeekV3):
    """The template of DeepSeek R1: as V3, with calls beside content, past reasoning cut, thinking opened."""

    name = "deepseek-r1"
    notes: tuple[str, ...] = ("DeepSeek's own template prints no tool definitions.",)
    added_tokens: tuple[str, ...] = (*DeepSeekV3.added_tokens, "<think>", "</think>")

    def _turn(self, state: State, message: Message, role: str) -> Turn | None:
        if role == "tool":
            state.after_tool = True
            first, state.returned = not state.returned, True
            return Turn("outputs" if first else "output", False, False)
        if role == "assistant" and message.tool_calls:
            state.after_tool = False
            first, state.called = not state.called, True
            return Turn("calls" if first else "more calls", not first, False)
        if role == "assistant":
            after_tool, state.after_tool = state.after_tool, False
            return Turn("answer after tool" if after_tool else "answer", False, False)
        return super()._turn(state, message, role)

    def _ending(self, state: State, request: Request) -> str:
        return OUTPUTS_END if state.after_tool else f"{ASSISTANT}<think>\n"

    def _text(self, form: str, message: Message, index: int) -> list[Piece]:
        content = content_pieces(message, index)
        if form == "output":
            return [literal(OUTPUT), *content, literal(OUTPUT_END)]
        if form == "answer":
            return [literal(ASSISTANT), *after_mark(content, "</think>", last=True), literal(EOS)]
        if form not in ("calls", "more calls"):
            return super()._text(form, message, index)
        pieces: list[Piece] = []
        for number, call in enumerate(message.tool_calls):
            opens = number == 0 and form == "calls"
            pieces += [literal(ASSISTANT), *content, literal(CALLS)] if opens else [literal("\n")]
            pieces += _fenced_call(call, index, number)
        return [*pieces, literal(CALLS_END + EOS)]


def after_mark(content: list[Piece], mark: str, *, last: bool) -> list[Piece]:
    """What follows the first or last ``mark``, all of the content where there is none."""
    text = "".join(piece.text for piece in content)
    found = text.rfind(mark) if last else text.find(mark)
    return content if found < 0 else sliced(content, found + len(mark), len(text))
