"""Reported cached tokens: agreement is silent, sudden misses and a distance over the log are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from radixadvisor.results import Analysis
from tests.serving.logs import Row, chats, marked
from tests.serving.seen import analyzed, expected_hits, one


def reporting(rows: list[Row], told: Callable[[int, int], int]) -> Analysis:
    """Rows analysed with a usage that tells ``told(number, tokens by the rules)`` cached tokens."""
    hits = expected_hits(rows)
    for number, row in enumerate(rows):
        tokens, length = hits[row["request_id"]]
        row["usage"] = {
            "prompt_tokens": length,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": told(number, tokens)},
        }
    return analyzed(rows)


def logs() -> list[tuple[str, Callable[[], list[Row]]]]:
    return [
        ("sglang", lambda: chats(31, lines=60)),
        ("anthropic", lambda: marked(chats(32, lines=60), lambda messages: [0, -1])),
        ("openai", lambda: [row | {"model": "gpt-4o"} for row in chats(33, lines=60)]),
    ]


@pytest.mark.parametrize(("profile", "make"), logs())
@pytest.mark.parametrize("page", [1, 16])
def test_agreement_is_silent(profile: str, make: Callable[[], list[Row]], page: int) -> None:
    analysis = reporting(make(), lambda number, tokens: tokens // page * page)
    assert analysis.findings == ()
    assert analysis.hits.headline == profile


@pytest.mark.parametrize(("profile", "make"), logs())
def test_sudden_misses_are_unexplained(profile: str, make: Callable[[], list[Row]]) -> None:
    missing = (11, 19, 23)
    analysis = reporting(make(), lambda number, tokens: 0 if number in missing else tokens)
    found = one(analysis, "RA512")
    assert [item.rule for item in analysis.findings] == ["RA512"]
    assert (found.kind, found.profile, found.requests) == ("explanation", profile, 3)
    assert found.where.request_id == "r-0011"
    assert "provider's side is suspected" in found.title


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (lambda number, tokens: 0, "caching is off, or hits are not reported"),
        (lambda number, tokens: 0 if number % 3 else tokens, "several replicas, or eviction"),
    ],
)
def test_a_distance_over_the_log_is_named_with_its_likely_cause(
    told: Callable[[int, int], int], cause: str
) -> None:
    analysis = reporting(chats(34, lines=90), told)
    assert [item.rule for item in analysis.findings] == ["RA511"]
    found = one(analysis, "RA511")
    assert found.kind == "explanation"
    assert cause in found.title


def test_misses_behind_long_gaps_point_at_eviction() -> None:
    gaps = (20.0, 900.0)
    rows = chats(35, lines=60, gap=lambda session, turn: gaps[turn % 2])
    analysis = reporting(rows, lambda number, tokens: 0 if (number // 5) % 2 else tokens)
    assert "entries are gone after 20 to 900 s" in one(analysis, "RA511").title


def test_hits_that_the_log_cannot_give_come_from_other_traffic() -> None:
    rows = chats(36, lines=90, sessions=10, systems=10, turns=2)
    analysis = reporting(rows, lambda number, tokens: max(tokens, 1500))
    found = one(analysis, "RA511")
    assert [item.rule for item in analysis.findings] == ["RA511"]
    assert "other traffic than the log holds" in found.title
    assert found.requests == 10


@pytest.mark.parametrize("seed", [37, 38])
def test_media_that_are_never_reported_as_hits_bypass_the_cache(seed: int) -> None:
    rows = chats(seed, lines=60, sessions=6)
    for row in rows:
        if row["metadata"]["session_id"] in ("s1", "s4"):
            first = row["messages"][1]
            image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
            first["content"] = [{"type": "text", "text": first["content"]}, image]
    seen = [row["metadata"]["session_id"] in ("s1", "s4") for row in rows]
    analysis = reporting(rows, lambda number, tokens: 0 if seen[number] else tokens)
    found = one(analysis, "RA502")
    assert [item.rule for item in analysis.findings] == ["RA502"]
    assert (found.kind, found.profile) == ("explanation", "sglang")
    assert "image" in found.title
    assert reporting(rows, lambda number, tokens: tokens).findings == ()
