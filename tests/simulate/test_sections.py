"""Shuffling moves sections and changes nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from radixadvisor.records import Message, Part, Request, Source
from radixadvisor.simulate.sections import sections, shuffle_sections

HEADED = "# A\nfirst\n## B\nsecond\n<docs>\nthird\n</docs>\n"


def request(*messages: Message, text: str | None = None) -> Request:
    return Request("r", Source("f", 1), messages=messages or None, text=text)


@given(st.text(alphabet="a#\n <>b"))
def test_sections_add_up_to_the_text(text: str) -> None:
    assert "".join(sections(text)) == text


def test_sections_begin_at_headings_and_tags_else_at_paragraphs() -> None:
    assert sections(HEADED) == ["# A\nfirst\n", "## B\nsecond\n", "<docs>\nthird\n</docs>\n"]
    assert sections("one\n\ntwo\n\n\nthree") == ["one\n\n", "two\n\n\n", "three"]
    assert sections("one line") == ["one line"]


def test_every_request_gets_an_order_of_its_own_and_keeps_its_lines() -> None:
    system = Message("system", HEADED)
    answer = Message("assistant", HEADED)
    question = Message("user", (Part("text", "p\n\nq"), Part("image", "# x\n# y\n")))
    requests = [request(system, answer, question) for _ in range(30)]
    made = list(shuffle_sections(requests))
    texts = set()
    for new in made:
        assert new is not None
        assert new.messages is not None
        first, second, third = new.messages
        texts.add(first.text)
        assert sorted(first.text.split()) == sorted(HEADED.split())
        assert second is answer
        assert isinstance(third.content, tuple)
        assert third.content[1] is question.content[1]  # type: ignore[index]
        assert sorted(third.content[0].text.split()) == ["p", "q"]
    assert len(texts) == 6
    again = [new.messages[0].text for new in shuffle_sections(requests) if new and new.messages]
    assert again == [new.messages[0].text for new in made if new and new.messages]
    other = [new.messages[0].text for new in shuffle_sections(requests, 1) if new and new.messages]
    assert other != again


def test_what_has_no_sections_stays() -> None:
    plain = [
        request(Message("user", "hello")),
        request(text="hello"),
        request(Message("user", None)),
        request(),
    ]
    assert list(shuffle_sections(plain)) == [None] * 4
    (bare,) = shuffle_sections([request(text="one\n\ntwo")], 3)
    assert bare is not None
    assert bare.text in ("one\n\ntwo", "two\n\none")
