"""The terminal report fits its screen and shows hostile text without obeying it."""

from __future__ import annotations

import dataclasses
import re

import pytest
from rich.cells import cell_len

from radixadvisor.report.terminal import Screen, render
from radixadvisor.results import Analysis, Branch
from tests.report.fixtures import hostile, ordinary

AT_60 = """\
66.0% of 1,200,000 prompt tokens repeat the beginning of an
earlier prompt; sglang serves 65.0% from its cache.

cache       tokens  of tokens   mean    hit
unlimited  792,345      66.0%  61.0%  99.8%
sglang*    780,000      65.0%  60.0%  99.8%
vllm       771,008      64.3%  59.0%  95.0%
none             0       0.0%      -      -
* headline profile. Of all prompt tokens, 41.7% repeat what
other sessions sent, 50.0% what their own session sent (the
two overlap).

What to change, in this order
No fault was found in how the prompts are built.

Heaviest shared branches
text                                 tokens  requests  saved
system You are a helpful airline a…    2.0k      1.0k   2.0M
├ user Book a flight from 北京 to …     600       400   239k
│ └ tool {"id": "call_1"}               100        10    900
└ user Cancel my reservation            100       300  29.9k
user Summarise                           90         5    360
"""
LEDGER_AT_80 = """\
Where each prompt token went
served from the cache          780,000  65.0%  ███████████████
page rounding, last token       12,345   1.0%  ▎
seen before, at another place   57,655   4.8%  █▏
new content                    350,000  29.2%  ██████▊
Bounds: served now 65.0%, with the best possible eviction 66.0%, if whatever was
seen before could be reused anywhere 70.8%.

Skipped 3 records
- 2 x not JSON: agent.jsonl.gz:7, agent.jsonl.gz:9
- 1 x no messages: agent.jsonl.gz:12
"""


def test_layout() -> None:
    assert AT_60 in render(ordinary(), Screen(60))
    assert LEDGER_AT_80 in render(ordinary(), Screen(80))


@pytest.mark.parametrize("width", [40, 60, 80, 140])
@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("analysis", [ordinary(), hostile()], ids=["ordinary", "hostile"])
def test_no_line_is_wider_than_the_screen(analysis: Analysis, width: int, unicode: bool) -> None:
    text = render(analysis, Screen(width, unicode=unicode))
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert unicode or text.isascii()
    assert "1,200,000" in text


def test_a_narrow_screen_shortens_no_figure() -> None:
    def figures(width: int, title: str, end: str) -> list[str]:
        text = render(ordinary(), Screen(width))
        return re.findall(r"[\d,.]+%|\d+,\d{3}", text[text.index(title) : text.index(end)])

    for title, end in (("\ncache ", "* headline"), ("Where each", "Bounds")):
        assert figures(40, title, end) == figures(80, title, end) != []


@pytest.mark.parametrize("width", [80, 140])
def test_a_screen_and_a_half_holds_it(width: int) -> None:
    base = ordinary()
    many = dataclasses.replace(
        base,
        branches=base.branches * 10,
        capacity=base.capacity * 10,
        assumptions=base.assumptions * 10,
        input=dataclasses.replace(
            base.input,
            skipped=dataclasses.replace(base.input.skipped, reasons={f"reason {i}": 1 for i in range(30)}),
        ),
    )
    text = render(many, Screen(width))
    assert len(text.splitlines()) <= 77
    assert "and 16 more: see assumptions in report.json" in text
    assert "and 25 more reasons: see input.skipped in report.json" in text


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    for screen in (Screen(140), Screen(140, color=True), Screen(80, unicode=False)):
        text = render(hostile(), screen)
        own = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert not [char for char in own if not char.isprintable() and char != "\n"]
        assert r"\x1b[31mred\x1b[0m\x00 [bold red]markup[/]" in own.replace("\n", " ")


def test_colour_is_extra() -> None:
    plain, coloured = render(ordinary(), Screen(80)), render(ordinary(), Screen(80, color=True))
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_secrets_do_not_reach_the_screen() -> None:
    branch = dataclasses.replace(ordinary().branches[0], excerpt="use sk-abcdefghijklmnop")
    assert "use sk-***" in render(dataclasses.replace(ordinary(), branches=(branch,)), Screen(80))


def test_deep_branches_stay_readable() -> None:
    chain = tuple(
        Branch(100 * i, 100, 50 - i, 100 * (49 - i), None, f"turn {i}", "user", i - 1) for i in range(8)
    )
    text = render(dataclasses.replace(ordinary(), branches=chain), Screen(60))
    assert all(f"turn {i}" in text for i in range(8))


def test_parts_without_content_leave_no_heading() -> None:
    base = ordinary()
    bare = dataclasses.replace(
        base,
        branches=(),
        capacity=(),
        ledger=(),
        assumptions=(),
        input=dataclasses.replace(
            base.input, skipped=dataclasses.replace(base.input.skipped, count=0, reasons={})
        ),
    )
    text = render(bare, Screen(80))
    for heading in ("Heaviest", "Hit rate by", "Where each", "Skipped", "Assumptions"):
        assert heading not in text
