"""Faults of place and order: blocks before what all share, moving blocks, mixed orders."""

from __future__ import annotations

from tests.diagnose.healthy import Row, Writer, said
from tests.diagnose.shapes import chats, fault, loops, question, singles


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


@fault("RA303")
def note_before_the_latest_turn(writer: Writer) -> None:
    rules, note = writer.manual(12), said("system", f"Style of answers:\n{writer.manual(6)}")
    for number in range(5):
        history: list[Row] = []
        for _ in range(6):
            asked = said("user", question(writer))
            sent = [said("system", f"You help.\n{rules}"), *history, note, asked]
            history += [asked, writer.ask(sent, metadata={"session_id": f"s{number}"})]
