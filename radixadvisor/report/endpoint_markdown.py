"""The section of the skill report that says what a server's cache served of the log."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.endpoint.results import EndpointReplay
from radixadvisor.report.endpoint_words import (
    account,
    counter_rows,
    failures_line,
    headline,
    server_line,
)
from radixadvisor.report.escape import prose
from radixadvisor.report.numbers import count, milliseconds

__all__ = ["HEADING", "section"]

HEADING = "## Measured on a server"


def section(replay: EndpointReplay) -> str:
    """The section, its heading included, a newline at the end."""
    return "\n".join(_lines(replay)).rstrip("\n") + "\n"


def _lines(replay: EndpointReplay) -> Iterator[str]:
    yield HEADING
    yield ""
    yield f"**{prose(headline(replay))}**"
    yield ""
    yield f"{prose(server_line(replay))}. {prose(failures_line(replay))}."
    if not replay.complete:
        yield "The replay was stopped before its end."
    if replay.answered:
        yield ""
        yield "| Cached tokens | Requests | Tokens |"
        yield "| --- | ---: | ---: |"
        for line in account(replay):
            text = f"**{prose(line.text)}**" if line.kind == "sum" else prose(line.text)
            yield f"| {text} | {'' if line.requests is None else count(line.requests)} | {line.shown} |"
        yield ""
        yield "| Time to first token, ms | Requests | p50 | p95 | p99 |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        for kind, spread in replay.ttft.items():
            if spread is not None:
                times = " | ".join(milliseconds(at) for at in (spread.p50, spread.p95, spread.p99))
                yield f"| {kind} | {count(spread.count)} | {times} |"
    if replay.before is not None:
        yield ""
        yield "| Counter of the server | Before | After | Rise |"
        yield "| --- | ---: | ---: | ---: |"
        for name, *figures in counter_rows(replay):
            yield f"| {prose(name)} | {' | '.join(figures)} |"
    yield ""
    for warning in replay.warnings:
        yield f"- {prose(warning)}"
    for name, reason in replay.not_evaluated.items():
        yield f"- {prose(f'{name}: {reason}')}."
