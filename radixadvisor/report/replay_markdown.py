"""The section of the skill report that says what a replay measured."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.replaying.results import Replay
from radixadvisor.report.escape import prose
from radixadvisor.report.numbers import count, percent
from radixadvisor.report.replay_words import (
    agreement_lines,
    claim_line,
    engine_line,
    headline,
    remarks,
    speedups,
    times,
)

__all__ = ["HEADING", "placed", "section"]

HEADING = "## Measured on the bundled engine"

_COLUMNS = ("Order and policy", "Hits", "Prompt tokens computed", "Prefill s", "Faster", "By FLOPs")


def section(replay: Replay) -> str:
    """The section, its heading included, a newline at the end."""
    return "\n".join(_lines(replay)).rstrip("\n") + "\n"


def placed(report: str, heading: str, text: str) -> str:
    """A report with a section at its end, in place of one that has its heading."""
    kept: list[str] = []
    inside = False
    for line in report.splitlines():
        if line.startswith("## "):
            inside = line == heading
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n\n" + text


def _lines(replay: Replay) -> Iterator[str]:
    yield HEADING
    yield ""
    if words := headline(replay):
        yield f"**{prose(words)}**"
        yield ""
    yield prose(engine_line(replay)) + "."
    if not replay.complete:
        yield "The replay was stopped before its end."
    yield ""
    yield "| " + " | ".join(_COLUMNS) + " |"
    yield "| --- " + "| ---: " * (len(_COLUMNS) - 1) + "|"
    for run in replay.runs:
        seconds, flops = speedups(replay, run)
        cells = (
            run.label,
            percent(run.rate),
            count(run.computed_tokens),
            f"{run.prefill_seconds:,.2f}",
            times(seconds),
            times(flops),
        )
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield "Faster is prefill time without a cache over prefill time with it, in the same order of prompts."
    yield ""
    for claim in replay.claims:
        yield f"- {prose(claim_line(claim))}."
    for line in agreement_lines(replay):
        yield f"- {prose(line)}."
    for line in remarks(replay):
        yield f"- {prose(line)}."
