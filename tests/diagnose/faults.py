"""Logs with one known fault each (or two), in shapes that the reference cases do not have."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.diagnose.healthy import DEEDS, THINGS, Row, Writer, said

Fault = Callable[[Writer], None]

FAULTS: dict[str, tuple[tuple[str, ...], Fault]] = {}
"""By name: the rules of which one is expected for each fault (joined by ``|``), and what writes the log."""

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


def fault(*rules: str) -> Callable[[Fault], Fault]:
    def register(write: Fault) -> Fault:
        FAULTS[write.__name__] = (rules, write)
        return write

    return register


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


@fault("RA101")
def clock_between_rules(writer: Writer) -> None:
    above, below = writer.manual(8), writer.manual(18)
    chats(
        writer,
        lambda _: f"You help.\n{above}\nIt is {writer.now:%H:%M:%S} on {writer.now:%d %B %Y}.\n{below}",
    )


@fault("RA101")
def clock_in_epoch_milliseconds(writer: Writer) -> None:
    rules = writer.manual(24)
    singles(
        writer,
        lambda: [
            said("system", f"ts={int(writer.now.timestamp() * 1000)}\n{rules}"),
            said("user", question(writer)),
        ],
    )


@fault("RA101")
def clock_in_a_tool_loop(writer: Writer) -> None:
    rules = writer.manual(24)
    loops(writer, lambda: f"Now: {writer.now:%a %d %b %Y %H:%M:%S}\nYou are an agent.\n{rules}")


@fault("RA101")
def clock_ahead_in_a_user_turn(writer: Writer) -> None:
    rules = writer.manual(20)
    singles(
        writer,
        lambda: [
            said(
                "user",
                f"[{writer.now:%Y-%m-%dT%H:%M:%SZ}]\nLabel notes.\n{rules}\n\nNote: {question(writer)}",
            )
        ],
    )


@fault("RA102")
def date_of_the_day(writer: Writer) -> None:
    rules = writer.manual(24)

    def system(number: int) -> str:
        writer.now = max(writer.now, datetime(2026, 6, 1 + number // 3, 9, tzinfo=UTC))
        return f"Today is {writer.now:%A, %B %d, %Y}.\nYou help.\n{rules}"

    chats(writer, system, sessions=12, turns=3)


@fault("RA103")
def request_id_between_rules(writer: Writer) -> None:
    above, below = writer.manual(8), writer.manual(18)
    chats(writer, lambda _: f"You help.\n{above}\nRequest-Id: {writer.uuid()}\n{below}")


@fault("RA103")
def trace_in_a_paragraph(writer: Writer) -> None:
    above, below = writer.prose(6), writer.prose(20)
    chats(
        writer,
        lambda _: f"You help. {above} The trace of this call is {writer.rng.getrandbits(64):016x}. {below}",
    )


@fault("RA104")
def session_id(writer: Writer) -> None:
    rules, names = writer.manual(24), [writer.uuid() for _ in range(9)]
    chats(writer, lambda number: f"Conversation: {names[number]}\nYou help.\n{rules}", sessions=9, turns=3)


@fault("RA105")
def profile_first(writer: Writer) -> None:
    rules = writer.manual(24)
    profiles = [f"<profile>\nname: {thing}\n{writer.manual(5)}\n</profile>" for thing in THINGS[:9]]
    chats(writer, lambda number: f"{profiles[number]}\nYou help.\n{rules}", sessions=9, turns=3)


@fault("RA106")
def call_counter(writer: Writer) -> None:
    rules = writer.manual(24)
    singles(
        writer,
        lambda: [
            said("system", f"Call number {100 + len(writer.rows)} of today.\nYou help.\n{rules}"),
            said("user", question(writer)),
        ],
    )


@fault("RA301")
def scratchpad_without_tags(writer: Writer) -> None:
    rules = writer.manual(20)
    chats(writer, lambda _: f"You help.\n{rules}\n\n## Scratchpad\n{writer.manual(5)}", sessions=4, turns=8)


@fault("RA301")
def todo_list_in_a_tool_loop(writer: Writer) -> None:
    rules = writer.manual(20)
    loops(writer, lambda: f"You are an agent.\n{rules}\n\n<todo>\n{writer.manual(4)}\n</todo>")


@fault("RA302")
def documents_before_instructions(writer: Writer) -> None:
    rules = writer.manual(20)
    singles(
        writer,
        lambda: [
            said(
                "user",
                "Documents:\n"
                + "\n\n".join(f"<document>\n{writer.prose(5)}\n</document>" for _ in range(3))
                + f"\n\nInstructions:\n{rules}\n\nQuestion: {question(writer)}",
            )
        ],
    )


@fault("RA303")
def reminder_behind_each_question(writer: Writer) -> None:
    rules, reminder = writer.manual(15), writer.manual(6)
    chats(writer, lambda _: f"You help.\n{rules}", wrap=lambda asked: f"{asked}\n\nRemember:\n{reminder}")


@fault("RA304")
def documents_in_tags(writer: Writer) -> None:
    rules = writer.manual(20)
    documents = [f'<document id="d{number}">\n{writer.prose(5)}\n</document>' for number in range(5)]

    def messages() -> list[Row]:
        shuffled = "\n".join(writer.rng.sample(documents, 5))
        return [
            said("system", f"Use the documents.\n{rules}\n<documents>\n{shuffled}\n</documents>"),
            said("user", question(writer)),
        ]

    singles(writer, messages)


@fault("RA304")
def paragraphs_of_a_context(writer: Writer) -> None:
    rules = writer.manual(15)
    topics = [[writer.prose(6) for _ in range(4)] for _ in range(2)]

    def messages() -> list[Row]:
        shuffled = "\n\n".join(writer.rng.sample(writer.rng.choice(topics), 4))
        return [
            said("system", f"Use the context.\n{rules}"),
            said("user", f"Context:\n{shuffled}\n\nQuestion: {question(writer)}"),
        ]

    singles(writer, messages)


@fault("RA305")
def persona_first(writer: Writer) -> None:
    rules = writer.manual(24)
    personas = [f"You are {name}, one of our voices.\n{writer.prose(6)}" for name in ("Ada", "Bob", "Cy")]
    singles(
        writer,
        lambda: [
            said("system", f"{writer.rng.choice(personas)}\n\n{rules}"),
            said("user", question(writer)),
        ],
    )


@fault("RA306")
def examples_drawn_anew(writer: Writer) -> None:
    rules = writer.manual(20)
    pool = [f"Q: {question(writer)}\nA: {writer.sentence()}" for _ in range(24)]

    def messages() -> list[Row]:
        drawn = "\n\n".join(writer.rng.sample(pool, 5))
        return [
            said("system", f"You label notes.\nExamples:\n{drawn}\n\nRules:\n{rules}"),
            said("user", question(writer)),
        ]

    singles(writer, messages)


@fault("RA307")
def sections_of_a_user_turn(writer: Writer) -> None:
    fixed = [f"Instructions:\n{writer.manual(18)}", f"Tools:\n{writer.prose(10)}"]

    def messages() -> list[Row]:
        sections = [*fixed, f"Question: {question(writer)}"]
        return [said("user", "\n\n".join(writer.rng.sample(sections, 3)))]

    singles(writer, messages)


@fault("RA101", "RA201")
def clock_and_shuffled_tools(writer: Writer) -> None:
    rules = writer.manual(20)
    for number in range(20):
        writer.ask(
            [
                said("system", f"Time: {writer.now:%H:%M:%S}\nYou help.\n{rules}"),
                said("user", question(writer)),
            ],
            tools=writer.rng.sample(TOOLS, 6),
            metadata={"session_id": f"s{number}"},
        )


@fault("RA105", "RA301")
def profile_and_memory(writer: Writer) -> None:
    rules = writer.manual(20)
    profiles = [f"member: m-{number:04d}\nplan: {thing}" for number, thing in enumerate(THINGS[:6])]
    chats(
        writer,
        lambda number: f"{profiles[number]}\nYou help.\n{rules}\n<memory>\n{writer.manual(4)}\n</memory>",
    )


def faulty_log(path: Path, name: str) -> Path:
    """Write a log with a fault among healthy requests; the path given."""
    writer = Writer(sorted(FAULTS).index(name) + 1)
    FAULTS[name][1](writer)
    rules = writer.manual(8)
    for _ in range(5):
        writer.ask([said("system", f"You count words.\n{rules}"), said("user", writer.question())])
    path.write_text(
        "".join(
            json.dumps({key: value for key, value in row.items() if key != "conversation"}) + "\n"
            for row in writer.rows
        )
    )
    return path
