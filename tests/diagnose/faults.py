"""Faults of a value: clocks, dates, identifiers, users and counters in the shared part of a prompt, and two
faults together.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tests.diagnose.healthy import THINGS, Writer, said
from tests.diagnose.shapes import TOOLS, chats, fault, loops, question, singles


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
