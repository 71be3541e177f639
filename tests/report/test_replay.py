"""Reports of a replay: JSON without holes, and no text from a log that acts."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan

import pytest

from radixadvisor.replaying.results import (
    Agreement,
    Claim,
    Difference,
    OrderInfo,
    PoolUse,
    Replay,
    RunResult,
    Spread,
    Times,
)
from radixadvisor.report.layout import Screen
from radixadvisor.report.replay_json import to_dict, to_json
from radixadvisor.report.replay_markdown import HEADING, placed, section
from radixadvisor.report.replay_terminal import render
from radixadvisor.report.replay_words import headline, quiet_line, speedups
from tests.report.fixtures import HOSTILE


def run(order: str, policy: str, hits: int, seconds: float) -> RunResult:
    cache = policy != "off"
    agreement = Agreement(40, 0.001, (Difference(1, 2, 17, 18, 0.5), Difference(2, 0, 3, 4, 0.0001)))
    return RunResult(
        order=order,
        policy=policy,
        cache=cache,
        requests=40,
        refused={"a prompt of 900 tokens needs 900 tokens of KV; the pool holds 800": 2},
        truncated=0,
        prompt_tokens=20_000,
        hit_tokens=hits,
        host_tokens=0,
        computed_tokens=20_000 - hits,
        recomputed_tokens=0,
        output_tokens=320,
        flops=1e9 - 4e4 * hits,
        predicted_flops=1e9 - 4e4 * hits,
        times=(Times(seconds + 2, seconds, 1.9),),
        ttft={
            "all": Spread(40, 0.02, 0.3, 1.25),
            "hit": Spread(30, 0.02, 0.1, 0.2) if cache else None,
            "miss": Spread(10, 0.2, 0.4, 1.25),
        },
        latency=Spread(280, 0.003, 0.005, 0.02),
        pool=PoolUse(800, 790, 500, 600, 12_000, 0, 3),
        predicted_tokens=hits,
        recorded_tokens=hits,
        deviating=0,
        unrecorded="",
        agreement=agreement if cache else None,
        complete=True,
    )


def replay(name: str = "req-1") -> Replay:
    return Replay(
        files=(name,),
        dialect="openai_chat",
        requests=42,
        skipped=0,
        ids={1: name, 2: "req-2"},
        setup={
            "device": "cpu",
            "device_name": None,
            "model": "tiny",
            "weights": "random",
            "dtype": "float32",
            "threads": 2,
            "scale": 4,
            "max_new": 8,
            "capacity": 800,
            "clients": 32,
            "arrivals": False,
            "speedup": 1.0,
        },
        orders=(OrderInfo("given", 20_000, 3000, ()), OrderInfo("shuffled", 20_000, 19_000, ())),
        runs=(
            run("given", "off", 0, 5.0),
            run("given", "lpm", 18_000, 0.5),
            run("shuffled", "off", 0, 5.0),
            run("shuffled", "lpm", 100, 5.5),
        ),
        claims=(
            Claim(
                "cache",
                "the cache pays",
                ("given off", "given lpm"),
                "prefill seconds",
                3,
                10,
                1.1,
                "refuted",
            ),
        ),
        notes=("4 tokens count as one",),
        not_evaluated={"orders.rewritten": "no text"},
        complete=True,
    )


def test_gains_are_ratios_to_the_same_order_without_a_cache() -> None:
    found = replay()
    assert speedups(found, found.runs[0]) == (None, None)
    assert speedups(found, found.runs[1]) == (10.0, 1e9 / (1e9 - 4e4 * 18_000))
    assert headline(found) == (
        "With the cache, prefill is 10.0x as fast in given order (lpm, 90.0% hits), 0.91x as fast in "
        "shuffled order (lpm, 0.5% hits)."
    )
    assert quiet_line(found).endswith("prefill 0.91x faster; cache refuted; tokens differ")


def test_differences_are_told_with_their_gaps() -> None:
    found = to_dict(replay())["runs"][1]["agreement"]
    assert (found["compared"], found["differing"], found["failures"]) == (40, 2, 1)
    assert found["differences"][0] == {
        "request_id": "req-1",
        "position": 2,
        "without_cache": 17,
        "with_cache": 18,
        "gap": 0.5,
    }
    shown = " ".join(render(replay(), Screen(140)).split())
    assert (
        "given lpm: req-1 differs from its token 3 on (18 instead of 17); logit gap 0.5, NOT a tie" in shown
    )
    assert "logit gap 0.0001, a tie" in shown


def test_a_gap_that_is_no_number_is_null_with_its_reason() -> None:
    found = replay()
    broken = replace(found.runs[1], agreement=Agreement(1, 0.1, (Difference(1, 0, 1, 2, nan),)))
    told = to_dict(replace(found, runs=(found.runs[0], broken)))
    assert told["runs"][1]["agreement"]["differences"][0]["gap"] is None
    assert "runs[1].agreement.differences.gap" in told["not_evaluated"]
    json.loads(to_json(replace(found, runs=(found.runs[0], broken))), parse_constant=pytest.fail)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_terminal_lines_fit_and_nothing_of_a_log_acts(width: int) -> None:
    shown = render(replay(HOSTILE), Screen(width))
    assert max(map(len, shown.splitlines())) <= width
    assert not set(shown) & set("\x1b\x00\u202e\r")
    plain = render(replay(HOSTILE), Screen(width, unicode=False))
    assert plain.isascii()


def test_the_section_replaces_its_earlier_self_and_nothing_else() -> None:
    report = "---\nname: x\n---\n\n# Title\n\nText.\n\n## Ledger\n\nRows.\n"
    once = placed(report, HEADING, section(replay()))
    assert once.startswith(report)
    assert placed(once, HEADING, section(replay())) == once
    between = once + "\n## Notes\n\nMore.\n"
    moved = placed(between, HEADING, section(replay()))
    assert moved.count(HEADING) == 1
    assert "## Notes\n\nMore.\n\n" + HEADING in moved


def test_the_section_escapes_what_a_log_names() -> None:
    shown = section(replay(HOSTILE))
    assert "<img" not in shown.replace("\\<", "")
    assert "\x1b" not in shown
    assert shown.count("\n# ") == 0
    assert shown.count("| given lpm |") == 1
