"""The prescribed order, measured again, and the bounds on orders."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.analysis import AnalyzeOptions, analyze
from radixadvisor.report.order import order_sentence
from radixadvisor.results import Analysis
from tests.test_order_trap import tools_last_log

SAMPLES = Path(__file__).resolve().parents[2] / "samples"

SENTENCES = (
    "Answer in one sentence and name the paragraph of the contract that it rests on.",
    "Amounts are given in euros, tax included, and dates as day, month and year.",
    "A device that was returned late is charged by the day up to the end of the month.",
    "Refunds are paid to the account that the first invoice was paid from, within a week.",
    "Whoever calls twice about the same fault is put through to the second line at once.",
)


def chain(analysis: Analysis) -> list[int]:
    """The bounds in their order."""
    bounds = analysis.bounds
    found = (
        bounds.current,
        bounds.best_order_found,
        bounds.dp_optimum,
        bounds.every_segment_seen_before,
    )
    return [tokens for tokens in found if tokens is not None]


def assert_chain(analysis: Analysis) -> None:
    found = chain(analysis)
    assert found == sorted(found)
    assert found[-1] <= analysis.totals.prompt_tokens


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def random_log(dice: random.Random) -> list[dict[str, Any]]:
    """Requests with sections of few and of many values, in one order or in several, in either role."""
    heads = ["## Rules", "## Shop", "## Customer", "## Notes", "Question:", "<context>"][: dice.randint(2, 6)]
    pools = {head: dice.choice((1, 2, 6, 60)) for head in heads}
    mixed, role = dice.random() < 0.5, dice.choice(("system", "user"))
    line = dice.sample(heads, len(heads))
    rows = []
    for number in range(dice.randint(1, 40)):
        parts = []
        for head in dice.sample(line, len(line)) if mixed else line:
            value = dice.randrange(pools[head])
            body = " ".join(f"{text} ({head} {value})" for text in SENTENCES[: 1 + value % 4])
            close = "\n</context>" if head == "<context>" else ""
            parts.append(f"{head}\n{body}{close}" if head != "Question:" else f"{head} {body}")
        lead = f"Call {number}. Please help.\n\n" if dice.random() < 0.2 else ""
        messages = [{"role": role, "content": lead + "\n\n".join(parts)}]
        if role == "system":
            messages.append({"role": "user", "content": f"What about case {dice.randrange(9)}?"})
        rows.append({"request_id": str(number), "model": "qwen2.5-7b-instruct", "messages": messages})
    return rows


def test_the_bounds_are_in_order_on_random_logs(tmp_path: Path) -> None:
    dice = random.Random(17)
    gained = 0
    for number in range(40):
        analysis = analyze([str(write(tmp_path / f"{number}.jsonl", random_log(dice)))])
        assert_chain(analysis)
        bounds = analysis.bounds
        assert bounds.best_order_found is not None
        gained += bounds.best_order_found > bounds.current
        # What was found was measured: it is what the prescriptions gain, to the token.
        text = sum(item.marginal_tokens for item in analysis.prescriptions if item.edit == "text")
        assert bounds.best_order_found == bounds.current + text
    assert gained > 10


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.jsonl")))
def test_the_bounds_are_in_order_on_the_samples(sample: str) -> None:
    assert_chain(analyze([str(SAMPLES / sample)]))


def test_the_bounds_are_in_order_on_real_logs_and_on_cases(shared: Path) -> None:
    logs = sorted(
        [
            *(shared / "cases").glob("*.jsonl"),
            shared / "data" / "logs" / "swe_agent.jsonl.gz",
            shared / "data" / "mooncake_conversation" / "conversation_trace.jsonl",
        ]
    )
    for log in logs:
        assert_chain(analyze([str(log)]))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_order_is_no_worse_than_any_permutation(tmp_path: Path, seed: int) -> None:
    """Sections of a few sizes in one order: every order written out and measured as a log of its own."""
    dice = random.Random(seed)
    heads = ["## Rules", "## Shop", "## Customer", "## Ticket"]
    pools = {"## Rules": 1, "## Shop": 3, "## Customer": 8, "## Ticket": 40}
    values = [{head: dice.randrange(pools[head]) for head in heads} for _ in range(40)]

    def rows(order: tuple[str, ...]) -> list[dict[str, Any]]:
        found = []
        for number, value in enumerate(values):
            parts = [f"{head}\n{value[head]}: {' '.join(SENTENCES[:4])} {value[head]}" for head in order]
            message = {"role": "user", "content": "\n\n".join(parts)}
            found.append({"request_id": str(number), "model": "qwen2.5-7b-instruct", "messages": [message]})
        return found

    rates = {}
    for order in permutations(heads):
        log = write(tmp_path / "log.jsonl", rows(order))
        rates[order] = analyze([str(log)], AnalyzeOptions(advice=False)).hits.unlimited.rate
    worst = min(rates, key=lambda order: rates[order])
    found = analyze([str(write(tmp_path / "worst.jsonl", rows(worst)))]).order
    assert found is not None
    assert found.rate_given == pytest.approx(rates[worst], abs=1e-3)
    assert found.rate_ordered >= max(rates.values()) - 5e-3
    assert found.rate_possible >= found.rate_ordered


def test_tools_behind_the_question_are_brought_back(shared: Path, tmp_path: Path) -> None:
    first, last = tools_last_log(shared, tmp_path)
    tools_first = analyze([str(first)], AnalyzeOptions(advice=False)).hits.unlimited.rate
    analysis = analyze([str(last)])
    assert analysis.order is not None
    assert analysis.order.rate_given < 0.05
    assert analysis.order.rate_ordered > 0.95 * tools_first
    assert_chain(analysis)
    said = order_sentence(analysis)
    assert said.count(".") == 4 and said.endswith(".")
    assert f"{analysis.order.rate_given:.1%}" in said
    assert f"{analysis.order.rate_ordered:.1%}" in said


def test_shuffled_sections_are_brought_back() -> None:
    consistent = analyze([str(SAMPLES / "rag-consistent.jsonl")], AnalyzeOptions(advice=False))
    analysis = analyze([str(SAMPLES / "rag-shuffled.jsonl")])
    assert analysis.order is not None
    assert analysis.order.rate_given < 0.2
    assert analysis.order.rate_ordered > 0.95 * consistent.hits.unlimited.rate
    assert f"{analysis.order.rate_ordered:.1%}" in order_sentence(analysis)


def test_a_pool_size_gives_the_bound_of_eviction() -> None:
    sample = str(SAMPLES / "rag-consistent.jsonl")
    small, large = (
        analyze([sample], AnalyzeOptions(advice=False, capacity=capacity)).bounds.optimal_eviction
        for capacity in (4_000, 1_000_000)
    )
    assert small is not None and large is not None
    assert small < large <= analyze([sample], AnalyzeOptions(advice=False)).hits.unlimited.tokens
    assert "bounds.optimal_eviction" not in analyze([sample], AnalyzeOptions(capacity=4_000)).not_evaluated


def test_an_order_that_was_not_searched_says_why() -> None:
    analysis = analyze([str(SAMPLES / "three.jsonl")], AnalyzeOptions(advice=False))
    assert analysis.order is None
    assert analysis.bounds.dp_optimum is None
    assert analysis.not_evaluated["bounds.dp_optimum"] == "left out by --no-advice"
