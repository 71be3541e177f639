"""Sections of a message: found, tiled, told apart; and put in order without a loss, once and for all."""

from __future__ import annotations

import json
import random

import pytest

from radixadvisor.diagnose.sections import DEFINITIONS, JSON, TEXT, sections_of
from radixadvisor.prescribe.edits import apply_edit
from radixadvisor.records import EditSpec, Message, Request, Source

TOOL = {"name": "find_room", "description": "Find a room.", "parameters": {"type": "object"}}
LINES = "\n".join(json.dumps(dict(TOOL, name=name)) for name in ("find_room", "book_room"))
INDENTED = json.dumps([TOOL, TOOL], indent=2)


def names(text: str) -> list[str]:
    return [section.name for section in sections_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is a room free?", []),
        (f"Is a room free?\n\n{LINES}", [TEXT, DEFINITIONS]),
        (f"Is a room free?\n\nAvailable tools:\n{INDENTED}", [TEXT, DEFINITIONS]),
        (f"Is a room free?\n```json\n{INDENTED}\n```\n", [TEXT, DEFINITIONS]),
        (f"Is a room free?\n<tools>\n{LINES}\n</tools>", [TEXT, DEFINITIONS]),
        (f"## Tools\n{LINES}\n\nIs a room free?", [DEFINITIONS, TEXT]),
        (f"# Task\nIs a room free?\n\n## Tools\n{LINES}", ["# Task", DEFINITIONS]),
        ('Read this:\n{"rooms": ["A1", "B2", "C3"], "floor": 4, "free": true}', [JSON]),
        ("Hello.\n{not json at all, however long this line of braces may be}", []),
        ("## A\none\n## B\ntwo\n", ["## A", "## B"]),
        ("## A\none\n## A\ntwo\n", []),
        ("Context: one\n\nQuestion: two", ["context:", "question:"]),
        ("<a>\n## B\none\n</a>\ntwo", ["<a>", TEXT]),
        ("zero\n<a>\none\n</a>\ntwo", [TEXT, "<a>"]),
        ("Title: one\n\nReview: two\nthree\n", ["title:", "review:"]),
        ("So: one\n\nand two", []),
        ("Hello, so it begins\nTitle: one\nReview: two", []),
        ("#### 72\nand\n#### 73", []),
    ],
)
def test_sections_are_found_by_their_marks(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def random_text(dice: random.Random) -> str:
    pieces = [
        "Is a room free?",
        LINES,
        INDENTED,
        "## Rules\nBe brief.",
        "<notes>\nNone.\n</notes>",
        "Task: book",
    ]
    pieces += ["{broken", "</notes>", "<notes>", "Available tools:", '{"a": "' + "b" * 50 + '"}', "```"]
    joiners = ("\n", "\n\n", " ")
    return "".join(dice.choice(pieces) + dice.choice(joiners) for _ in range(dice.randint(0, 6)))


def request(text: str) -> Request:
    return Request("r", Source("log", 1), messages=(Message("user", text),))


def test_sections_add_up_to_the_text_and_bear_different_names() -> None:
    dice = random.Random(1)
    several = 0
    for _ in range(3000):
        text = random_text(dice)
        found = sections_of(text)
        if found:
            assert "".join(text[part.start : part.end] for part in found) == text
            assert len({part.name for part in found}) == len(found)
        several += len(found) > 2
    assert several > 100


def test_an_order_keeps_every_word_and_a_second_time_changes_nothing() -> None:
    dice = random.Random(2)
    changed = 0
    for _ in range(3000):
        text = random_text(dice)
        order = dice.sample(names(text), len(names(text)))
        parameters = (("joiner", "\n\n"), ("order", json.dumps(order)), ("zone", "last"))
        spec = EditSpec("order_sections", "review", (0,), parameters)
        given = request(text)
        (once,) = apply_edit([given], spec)
        assert once.messages is not None
        new = once.messages[0].text
        words = new.replace("<request>", " ").replace("</request>", " ").split()
        assert sorted(words) == sorted(text.split())
        assert apply_edit([once], spec)[0] is once
        changed += once is not given
    assert changed > 500
