"""Logs without a fault, drawn from a seed: what looks volatile never varies at one place of a template, and
histories only grow.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

_THINGS = """anchor barrel candle drawer engine folder garden hammer island jacket kettle ladder magnet needle
orchid packet quiver ribbon saddle timber umbrella valley window yarrow zipper bridge copper dialog"""
_DEEDS = "adjust borrow collect deliver empty fasten gather handle inspect join keep lift measure note"
THINGS, DEEDS = _THINGS.split(), _DEEDS.split()

Row = dict[str, object]


class Writer:
    """Draws words, moments and requests."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = datetime(2026, 5, 4, 8, tzinfo=UTC) + timedelta(minutes=self.rng.randrange(10_000))
        self.rows: list[Row] = []

    def uuid(self) -> str:
        return str(UUID(int=self.rng.getrandbits(128)))

    def sentence(self) -> str:
        pick = self.rng.choice
        return (
            f"The {pick(THINGS)} and the {pick(THINGS)} {pick(DEEDS)} their {pick(THINGS)} "
            f"near the {pick(THINGS)} {self.rng.randrange(3, 900)} times."
        )

    def prose(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def manual(self, lines: int) -> str:
        pick = self.rng.choice
        return "\n".join(
            f"{number}. First {pick(DEEDS)} the {pick(THINGS)}, then {pick(DEEDS)} the {pick(THINGS)} "
            f"unless the {pick(THINGS)} says otherwise, as in chapter {self.rng.randrange(1, 90)}."
            for number in range(1, lines + 1)
        )

    def decoy(self) -> str:
        """Something that looks volatile, for text that stays."""
        moment = self.now - timedelta(days=self.rng.randrange(400), seconds=self.rng.randrange(80_000))
        return self.rng.choice(
            [
                f"Edition of {moment:%Y-%m-%d %H:%M:%S}.",
                f"Document {self.uuid()}, revision {self.rng.randrange(90)}.",
                f"Last reviewed {moment:%d %B %Y} at {moment:%H:%M}.",
                f"Build {self.rng.getrandbits(48):012x}; session layout 7.",
            ]
        )

    def question(self) -> str:
        """A user's words, often with a moment or an identifier in them."""
        self.now += timedelta(seconds=self.rng.randrange(2, 90))
        asked = f"How do I {self.rng.choice(DEEDS)} the {self.rng.choice(THINGS)}? {self.sentence()}"
        return self.rng.choice(
            [
                asked,
                f"[{self.now:%H:%M:%S}] {asked}",
                f"{asked} Ticket {self.uuid()}.",
                f"{self.now:%Y-%m-%dT%H:%M:%SZ} {asked}",
            ]
        )

    def ask(self, messages: list[Row], **fields: object) -> Row:
        """Log one request; the answer's message."""
        self.now += timedelta(seconds=self.rng.randrange(1, 40))
        answer: Row = {"role": "assistant", "content": self.prose(self.rng.randrange(1, 4))}
        self.rows.append(
            {
                "request_id": f"h-{len(self.rows):04d}",
                "timestamp": self.now.isoformat(),
                "model": "qwen2.5-7b-instruct",
                "messages": [dict(message) for message in messages],
                "response": answer,
                "conversation": messages[0]["content"] if len(messages) == 1 else str(messages[:2]),
                **fields,
            }
        )
        return answer


def said(role: str, content: str) -> Row:
    """A message."""
    return {"role": role, "content": content}


def chat(writer: Writer, name: str) -> None:
    """Conversations behind one system prompt that holds a frozen moment and a constant identifier."""
    system = (
        f"You are {name}. {writer.decoy()}\n{writer.manual(writer.rng.randrange(4, 16))}\n{writer.decoy()}"
    )
    for number in range(writer.rng.randrange(2, 6)):
        messages = [said("system", system)]
        for _ in range(writer.rng.randrange(1, 6)):
            messages.append(said("user", writer.question()))
            messages.append(writer.ask(messages, metadata={"session_id": f"{name}-{number}"}))


def unnamed_chat(writer: Writer, name: str) -> None:
    """Conversations without a system prompt and without session names."""
    for _ in range(writer.rng.randrange(2, 5)):
        messages: list[Row] = []
        for _ in range(writer.rng.randrange(1, 5)):
            messages.append(said("user", writer.question()))
            messages.append(writer.ask(messages))


def agent(writer: Writer, name: str) -> None:
    """Tool loops whose results carry moments and identifiers, appended and never changed."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"{deed}_{thing}",
                "description": f"Call it to {deed} the {thing}.",
                "parameters": {"type": "object", "properties": {"target": {"type": "string"}}},
            },
        }
        for deed, thing in zip(writer.rng.sample(DEEDS, 4), writer.rng.sample(THINGS, 4), strict=True)
    ]
    system = f"You are the agent {name}.\n{writer.manual(8)}\n{writer.decoy()}"
    for number in range(writer.rng.randrange(1, 4)):
        messages = [said("system", system), said("user", writer.question())]
        for step in range(writer.rng.randrange(2, 7)):
            writer.ask(messages, tools=tools, metadata={"session_id": f"{name}-{number}"})
            function = {"name": f"{name}_tool", "arguments": json.dumps({"target": writer.sentence()})}
            call = {"id": f"call_{number}_{step}", "type": "function", "function": function}
            turn: Row = {"role": "assistant", "content": "", "tool_calls": [call]}
            writer.rows[-1]["response"] = turn
            result = f"{writer.now:%Y-%m-%d %H:%M:%S} {writer.uuid()} {writer.prose(3)}"
            messages += [turn, {**said("tool", result), "tool_call_id": call["id"]}]


def retrieval(writer: Writer, name: str) -> None:
    """Retrieved documents behind static instructions, one order for each topic, the question last."""
    system = f"You are {name}. Answer from the passages.\n{writer.manual(10)}"
    library = [f"[doc {number}]\n{writer.prose(4)}" for number in range(12)]
    for _ in range(writer.rng.randrange(4, 12)):
        first = writer.rng.randrange(0, 10, 3)
        passages = "\n\n".join(library[first : first + 3])
        writer.ask(
            [
                said("system", system),
                said("user", f"Passages:\n{passages}\n\nQuestion: {writer.question()}"),
            ]
        )


def fresh_retrieval(writer: Writer, name: str) -> None:
    """Documents that never come twice, kept in the history once they were sent."""
    system = f"You are {name}. Use the context.\n{writer.manual(9)}"
    for number in range(writer.rng.randrange(1, 4)):
        messages = [said("system", system)]
        for _ in range(writer.rng.randrange(1, 5)):
            context = f"<context>\n{writer.prose(4)}\n</context>\n\n{writer.question()}"
            messages.append(said("user", context))
            messages.append(writer.ask(messages, metadata={"session_id": f"{name}-{number}"}))


def labels(writer: Writer, name: str) -> None:
    """Short notes behind static instructions."""
    system = f"You label notes for {name}.\n{writer.manual(6)}"
    for _ in range(writer.rng.randrange(3, 12)):
        writer.ask([said("system", system), said("user", f"Note: {writer.question()}")])


def one_shots(writer: Writer, name: str) -> None:
    """Texts that share nothing."""
    for _ in range(writer.rng.randrange(3, 10)):
        writer.ask([said("user", f"{writer.question()}\n\n{writer.prose(12)}")])


def tenants(writer: Writer, name: str) -> None:
    """Prompts of several owners that have nothing in common."""
    for number in range(writer.rng.randrange(2, 5)):
        system = f"House rules of {writer.uuid()}.\n{writer.manual(7)}"
        for _ in range(writer.rng.randrange(1, 4)):
            writer.ask([said("system", system), said("user", writer.question())], user=f"owner-{number}")


APPLICATIONS: tuple[Callable[[Writer, str], None], ...] = (
    *(chat, unnamed_chat, agent, retrieval, fresh_retrieval, labels, one_shots, tenants),
)


def healthy_log(path: Path, seed: int) -> Path:
    """Write a log of one to four applications, interleaved; the path given."""
    writer = Writer(seed)
    for number, application in enumerate(writer.rng.sample(APPLICATIONS, writer.rng.randrange(1, 5))):
        application(writer, f"{THINGS[number]}{seed}")
    shifts: dict[str, timedelta] = {}
    for row in writer.rows:
        shift = shifts.setdefault(
            str(row.pop("conversation")), timedelta(seconds=-writer.rng.randrange(4000))
        )
        row["timestamp"] = (datetime.fromisoformat(str(row["timestamp"])) + shift).isoformat()
    writer.rows.sort(key=lambda row: str(row["timestamp"]))
    path.write_text("".join(json.dumps(row) + "\n" for row in writer.rows))
    return path
