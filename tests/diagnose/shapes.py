"""The shapes of traffic that faults are put into."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.diagnose.healthy import DEEDS, THINGS, Row, Writer, said

Fault = Callable[[Writer], None]

FAULTS: dict[str, tuple[tuple[str, ...], Fault]] = {}
"""By name: the rules of which one is expected for each fault (joined by ``|``), and what writes the log."""


def fault(*rules: str) -> Callable[[Fault], Fault]:
    def register(write: Fault) -> Fault:
        FAULTS[write.__name__] = (rules, write)
        return write

    return register


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"{deed}_item",
            "description": f"Call it to {deed} an item of the {thing}.",
            "parameters": {"type": "object", "properties": {"target": {"type": "string"}}},
        },
    }
    for deed, thing in zip(DEEDS[:6], THINGS[:6], strict=True)
]


def chats(
    writer: Writer,
    system: Callable[[int], str],
    sessions: int = 6,
    turns: int = 5,
    wrap: Callable[[str], str] | None = None,
    **fields: object,
) -> None:
    """Conversations whose system prompt is written anew for each request."""
    for number in range(sessions):
        history: list[Row] = []
        for _ in range(turns):
            asked = (
                f"How do I {writer.rng.choice(DEEDS)} the {writer.rng.choice(THINGS)}? {writer.sentence()}"
            )
            sent = [said("system", system(number)), *history, said("user", wrap(asked) if wrap else asked)]
            answer = writer.ask(sent, metadata={"session_id": f"s{number}"}, user=f"u{number}", **fields)
            history += [said("user", asked), answer]


def singles(writer: Writer, messages: Callable[[], list[Row]], count: int = 30) -> None:
    """Requests on their own."""
    for _ in range(count):
        writer.ask(messages())


def loops(writer: Writer, system: Callable[[], str]) -> None:
    """Tool loops whose system prompt is written anew at each step."""
    for number in range(3):
        history = [said("user", writer.sentence())]
        for step in range(9):
            writer.ask(
                [said("system", system()), *history], tools=TOOLS, metadata={"session_id": f"s{number}"}
            )
            function = {"name": "adjust_item", "arguments": json.dumps({"target": writer.sentence()})}
            call = {"id": f"c{step}", "type": "function", "function": function}
            turn: Row = {"role": "assistant", "content": "", "tool_calls": [call]}
            writer.rows[-1]["response"] = turn
            history += [turn, {**said("tool", writer.prose(3)), "tool_call_id": f"c{step}"}]


def question(writer: Writer) -> str:
    return f"How do I {writer.rng.choice(DEEDS)} the {writer.rng.choice(THINGS)}? {writer.sentence()}"
