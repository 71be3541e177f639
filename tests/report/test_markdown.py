"""The skill report is a valid skill file, and no text of a log acts in it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from radixadvisor.report.markdown import EXAMPLE_MARK, to_markdown
from radixadvisor.results import Analysis
from tests.report.fixtures import hostile, ordinary

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def split(text: str) -> tuple[dict[str, str], str]:
    """Front matter as flat pairs (folded blocks joined), and the body."""
    _, front, body = text.split("---\n", 2)
    pairs: dict[str, str] = {}
    key = ""
    for line in front.splitlines():
        if line.startswith(" "):
            pairs[key] = f"{pairs[key]} {line.strip()}".strip()
        else:
            key, _, value = line.partition(":")
            pairs[key] = value.strip().removeprefix(">-")
    return pairs, body


def tokens(body: str) -> list[Token]:
    parsed = MARKDOWN.parse(body)
    return parsed + [child for token in parsed for child in token.children or []]


@pytest.mark.parametrize("analysis", [ordinary(), hostile()], ids=["ordinary", "hostile"])
def test_front_matter(analysis: Analysis) -> None:
    pairs, _ = split(to_markdown(analysis))
    assert set(pairs) == {"name", "description"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", pairs["name"])
    assert len(pairs["name"]) <= 64
    assert 1 <= len(pairs["description"]) <= 1024
    assert "66.0%" in pairs["description"]
    assert not set(pairs["description"]) & set("<>{}[]`\\")


def test_nothing_from_a_log_acts() -> None:
    _, calm = split(to_markdown(ordinary()))
    _, wild = split(to_markdown(hostile()))
    kinds = {token.type for token in tokens(wild)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "hr", "em_open", "s_open", "fence"}
    headings = [
        [after.content for token, after in pairwise(parsed) if token.type == "heading_open"]
        for parsed in (MARKDOWN.parse(calm), MARKDOWN.parse(wild))
    ]
    assert headings[0] == [h.replace("1 record", "3 records") for h in headings[1]]
    rows = [
        [sum(t.type in ("td_open", "th_open") for t in part) for part in _rows(MARKDOWN.parse(body))]
        for body in (calm, wild)
    ]
    assert rows[0] == rows[1]


def _rows(parsed: list[Token]) -> list[list[Token]]:
    rows: list[list[Token]] = []
    for token in parsed:
        if token.type == "tr_open":
            rows.append([])
        elif rows:
            rows[-1].append(token)
    return rows


def test_figures_reasons_and_assumptions_are_there() -> None:
    text = to_markdown(ordinary())
    for part in (
        "| `sglang` (headline) | 780,000 | 65.0% | 60.0% | 99.8% |",
        "- `system`: 2,000 tokens, 1,000 requests, saves 1,998,000, 109 MiB to pin it. `You are a helpful",
        "  - `user`: 600 tokens, 400 requests, saves 239,400, 142 MiB to pin it. `Book a flight from 北京 to",
        "    - `tool`: 100 tokens",
        "| `rounding` | page rounding, last token | 12,345 | 1.0% |",
        "- with the best possible eviction: 792,345 tokens, 66.0%",
        "| 512k | 28.16 | 66.0% | 66.0% |",
        "- 2 × not JSON: `agent.jsonl.gz:7`, `agent.jsonl.gz:9`",
        "- 90 outputs have no length and count 256 tokens (cached outputs are an estimate)",
        "- `bounds.best_order_found`, `bounds.dp_optimum`: this version does not search orders",
    ):
        assert part in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_only_an_example_is_marked_as_one() -> None:
    assert EXAMPLE_MARK not in to_markdown(ordinary())
    assert EXAMPLE_MARK in split(to_markdown(ordinary(), example=True))[0]["metadata"]
