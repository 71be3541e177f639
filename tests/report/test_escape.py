"""Text from a log is masked, visible, and inert in Markdown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from radixadvisor.report.escape import clip, code, mask, prose, visible
from tests.report.fixtures import HOSTILE

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

SECRETS = [
    "sk-proj-abcdefghijklmnop1234",
    "sk_live_abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrst1234",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz12345",
    "xoxb-123456789012-abcdef",
    "hf_abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "jane.doe+x@mail.example.org",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_hidden_wherever_they_stand(secret: str) -> None:
    for text in (secret, f"key: {secret}, then", f'{{"k": "{secret}"}}', f"line\n{secret}\nline"):
        hidden = mask(text)
        assert secret not in hidden
        assert "***" in hidden


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_cut_by_the_end_of_an_excerpt_is_hidden(secret: str) -> None:
    assert mask(f"use {secret[:15]}")[-3:] == "***"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abc.DEF-123456", "Authorization: Bearer ***"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
        ("send bearer abc.DEF-123456 now", "send bearer *** now"),
        ("password=hunter2hunter2; next", "password=***; next"),
        ('"api_key": "0123456789abcdef"', '"api_key": "***"'),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after", "*** after"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "***"),
        ("9f8e7d6c5b4a39281706 is the rest of a key", "*** is the rest of a key"),
    ],
)
def test_secrets_known_by_what_stands_before_them(text: str, hidden: str) -> None:
    assert mask(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "You are a helpful assistant. Ask before you act.",
        "The task-specific skeleton: sk-learn, risk-free, a desk-top",
        "def f(x): return x @ y",
        "Basic arithmetic and bearer of news",
        "Passwords must never be shown to the user",
        "2026-01-05T10:00:00Z f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text) == text


def test_active_characters_show_as_escapes() -> None:
    assert visible("a\tb\r\n\x1b[31m\x00\x9b\u202e\u200b\u2028\ud800\U000e0001") == (
        r"a\tb\r\n\x1b[31m\x00\x9b\u202e\u200b\u2028\ud800\U000e0001"
    )
    assert visible("naïve 北京 🎯") == "naïve 北京 🎯"


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
    shown.encode()


def test_clip_marks_its_cut() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"


def inline(text: str) -> list[str]:
    """The kinds of everything that Markdown sees in a text, apart from plain text."""
    kinds = []
    for token in MARKDOWN.parse(text):
        kinds.append(token.type)
        kinds += [child.type for child in token.children or []]
    plain = {"text", "text_special", "paragraph_open", "inline", "paragraph_close", "softbreak"}
    return [kind for kind in kinds if kind not in plain]


def rendered(text: str) -> str:
    tokens = [child for token in MARKDOWN.parse(text) for child in token.children or []]
    return "".join(token.content for token in tokens)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1) | st.just(HOSTILE))
def test_prose_is_only_text(text: str) -> None:
    assert inline(prose(text)) == []
    assert rendered(prose(text)).strip() == visible(text).strip()


@given(st.text(alphabet="a b\\`*_[]<>()#+-.!|~&;:/=1)\n\t'\"@"))
def test_prose_is_only_text_whatever_the_punctuation(text: str) -> None:
    assert inline(prose(text)) == []


def test_prose_does_not_make_links_of_addresses() -> None:
    assert prose("see https://evil.example or www.evil.example") == (
        "see https\\://evil.example or www\\.evil.example"
    )


@given(st.text() | st.just(HOSTILE))
def test_code_is_one_span(text: str) -> None:
    span = code(text)
    if span != "(empty)":
        assert inline(span) == ["code_inline"]


@given(st.text() | st.just(HOSTILE))
def test_code_keeps_a_table_row_together(text: str) -> None:
    table = MARKDOWN.parse(f"| a | b |\n| --- | --- |\n| {code(text, in_table=True)} | x |\n")
    assert [token.type for token in table].count("td_open") == 2
    last = [token for token in table if token.type == "inline"][-1]
    assert last.content == "x"
