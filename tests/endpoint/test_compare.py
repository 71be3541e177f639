"""Why a report differs from its prediction: every reason, told from the numbers alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from radixadvisor.endpoint.answers import Counts
from radixadvisor.endpoint.compare import grain_of, reason, zeros_told
from radixadvisor.endpoint.drive import Sent
from radixadvisor.endpoint.identify import LLAMA, SGLANG, UNKNOWN, VLLM, Engine
from radixadvisor.endpoint.predict import Expected

SENT = Sent(0, None, 1, {}, 0.0, 0.0, 0.1, 0.2, Counts(100, 64, 4))
EXPECTED = Expected(prompt=100, shared=70, bound=70, cached=64)


@pytest.mark.parametrize(
    ("engine", "expected", "counts", "more", "start"),
    [
        (Engine(VLLM, 16), EXPECTED, Counts(100, 64), {}, ""),
        (Engine(VLLM, 16), EXPECTED, Counts(100), {}, ""),
        (Engine(VLLM, 16), EXPECTED, Counts(101, 48), {}, "template"),
        (Engine(VLLM, 16), None, Counts(100, 48), {}, "template"),
        (Engine(VLLM, 16), None, Counts(100, 0), {}, ""),
        (Engine(VLLM, 16), EXPECTED, Counts(100, 80), {}, "not sent by this replay"),
        (Engine(VLLM, 16), EXPECTED, Counts(100, 68), {}, "pages"),
        (Engine(VLLM, 16), EXPECTED, Counts(100, 48), {}, "evicted"),
        (Engine(VLLM, 16), EXPECTED, Counts(100, 48), {"serial": False}, "in flight"),
        (Engine(LLAMA, slots=2), EXPECTED, Counts(100, 48), {}, "slots: "),
        (Engine(LLAMA, slots=2), EXPECTED, Counts(100, 48), {"serial": False}, "slots, in flight"),
        (Engine(SGLANG), Expected(100, 100, 99, 99), Counts(100, 100), {}, "last token"),
        (
            Engine(UNKNOWN),
            Expected(100, 70, 70, 70),
            Counts(100, 64),
            {"grain": 16},
            "pages: the server shares",
        ),
        (Engine(UNKNOWN), Expected(100, 70, 70, 70), Counts(100, 32), {"grain": 16}, "evicted"),
    ],
)
def test_reasons(
    engine: Engine, expected: Expected | None, counts: Counts, more: dict[str, Any], start: str
) -> None:
    found = reason(expected, replace(SENT, counts=counts), engine, **more)
    assert found.startswith(start) and bool(found) == bool(start)


def test_what_was_sent_twice_is_not_blamed_on_the_cache() -> None:
    again = replace(SENT, counts=Counts(100, 99), attempts=2)
    assert reason(EXPECTED, again, Engine(VLLM, 16)).startswith("sent more than once")
    failed = replace(again, failure="500")
    assert reason(EXPECTED, failed, Engine(VLLM, 16)) == ""


def with_counts(*counts: Counts) -> list[Sent]:
    return [replace(SENT, counts=one) for one in counts]


def test_a_field_left_out_is_a_zero_where_others_have_it() -> None:
    sent = with_counts(Counts(9), Counts(9, 5), Counts(), Counts(9, impossible=True))
    told = [one.counts.cached for one in zeros_told(sent, Engine(VLLM, 16))]
    assert told == [0, 5, None, None]
    assert zeros_told(sent, Engine(LLAMA, slots=1)) == sent
    silent = with_counts(Counts(9), Counts(9))
    assert zeros_told(silent, Engine(VLLM, 16)) == silent


def test_pages_of_an_unknown_engine_show_in_what_it_reports() -> None:
    sent = with_counts(Counts(900, 128), Counts(900, 0), Counts(900, 384))
    assert grain_of(sent, Engine(UNKNOWN)) == 128
    assert grain_of(sent, Engine(SGLANG)) == 1
    assert grain_of(with_counts(Counts(900, 128), Counts(900, 77)), Engine(UNKNOWN)) == 1
    assert grain_of(with_counts(Counts(900, 128)), Engine(UNKNOWN)) == 1
