"""Plain turns: the short cut says what the pieces say, and gives the same tokens and the same segments."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.records import Message, Part, Request, Source, ToolCall
from radixadvisor.render.base import RenderError
from radixadvisor.render.registry import renderer, template_names
from radixadvisor.tokens.base import encode_prompt_text
from radixadvisor.tokens.engine import choose
from radixadvisor.tokens.pool import SegmentPool

TEMPLATES = [name for name in template_names() if hasattr(renderer(name), "plain")]

_words = st.sampled_from(
    [
        "Hello",
        " there",
        "\n",
        "\n\n",
        " ",
        "<|im_start|>",
        "<|im_end|>\n",
        "<|im_",
        "end|>",
        "<|eot_id|>",
        "<|endoftext|>",
        "<think>",
        "</think>",
        "<tool_response>",
        "<|",
        "é",
        "\U0001f600",
        "A long line of many words that stands in several of the texts, to be cut and met again.\n",
    ]
)
_texts = st.lists(_words, max_size=8).map("".join)
_contents = st.one_of(
    _texts, st.none(), st.lists(_texts.map(lambda text: Part("text", text)), max_size=3).map(tuple)
)
_calls = st.sampled_from([(), (), (), (ToolCall("c1", "look_up", '{"q": 1}'),)])


@st.composite
def _messages(draw: st.DrawFn) -> Message:
    role = draw(st.sampled_from(["system", "developer", "user", "user", "assistant", "assistant", "tool"]))
    assistant = role == "assistant"
    calls = draw(_calls) if assistant else ()
    reasoning = draw(st.one_of(st.none(), _texts)) if assistant else None
    return Message(role, draw(_contents), calls, reasoning=reasoning)


def _request(messages: list[Message]) -> Request:
    return Request("r", Source("log", 1), messages=tuple(messages))


def test_the_families_that_offer_it() -> None:
    assert {"chatml", "anthropic", "qwen2.5", "qwen3", "llama3.1"} <= set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=60, deadline=None)
@given(messages=st.lists(_messages(), min_size=1, max_size=6))
def test_the_short_cut_equals_the_pieces(name: str, messages: list[Message]) -> None:
    choice = choose("", chat_template=name)
    template, request = choice.renderer, _request(messages)
    try:
        groups = template.groups(request)
    except RenderError:
        return
    pool = SegmentPool(template, choice.tokenizer)
    by_text: dict[str, int] = {}
    for group, segment in zip(groups, pool.segments(request), strict=True):
        text = "".join(piece.text for piece in template.pieces(request, group))
        plain = template.plain(group)  # type: ignore[attr-defined]
        assert plain is None or "".join(plain) == text
        assert pool.tokens[segment] == encode_prompt_text(choice.tokenizer, text)
        assert by_text.setdefault(text, segment) == segment


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_plain_question_takes_the_short_cut(name: str) -> None:
    template = renderer(name)
    request = _request([Message("system", "Be brief."), Message("user", "Where?"), Message("user", "Why?")])
    group = next(group for group in template.groups(request) if group.first == 2)
    plain = template.plain(group)  # type: ignore[attr-defined]
    assert plain is not None and plain.content == "Why?"


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("content", ["\ud83d\ude00", "lone \ud800"])
def test_a_content_that_utf8_cannot_carry_fails_or_passes_alike(name: str, content: str) -> None:
    choice = choose("", chat_template=name)
    request = _request([Message("user", "Hi."), Message("user", content)])
    short, general = (
        SegmentPool(choice.renderer, choice.tokenizer),
        SegmentPool(choice.renderer, choice.tokenizer),
    )
    general._plain = None
    outcomes = []
    for pool in (short, general):
        try:
            outcomes.append([pool.tokens[segment] for segment in pool.segments(request)])
        except UnicodeEncodeError:
            outcomes.append([])
    assert outcomes[0] == outcomes[1]
