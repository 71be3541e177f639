"""A replay against a server for a terminal: the account of cached tokens, times, counters, warnings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.endpoint.results import EndpointReplay
from radixadvisor.report.endpoint_words import (
    account,
    counter_rows,
    failures_line,
    headline,
    server_line,
)
from radixadvisor.report.escape import clip
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import count, milliseconds, plural

__all__ = ["render"]


def render(replay: EndpointReplay, screen: Screen) -> str:
    """The replay, no line wider than the screen."""
    return screen.text(_blocks(replay, screen))


def _blocks(replay: EndpointReplay, screen: Screen) -> Iterator[RenderableType]:
    name = replay.files[0] if len(replay.files) == 1 else plural(len(replay.files), "file")
    facts = [clip(name, 60), replay.dialect, plural(replay.requests, "request")]
    yield Text((" · " if screen.unicode else " | ").join(map(screen.safe, facts)), style="dim")
    yield Text(screen.safe(server_line(replay)) + ".", style="dim")
    yield Text("")
    yield Text(headline(replay), style="bold")
    yield Text(screen.safe(failures_line(replay)) + ".")
    if not replay.complete:
        yield Text("Stopped before the end: only what had ended by then counts.", style="bold yellow")
    blocks: list[tuple[str, Table]] = []
    if replay.answered:
        blocks.append(("Cached tokens, from the log to the server", _account(replay, screen)))
        told = "" if replay.reported is not None else "; hits are the predicted ones"
        blocks.append((f"Time to first token, ms{told}", _first_tokens(replay)))
    if replay.before is not None:
        blocks.append(("The server's counters, tokens", _counters(replay)))
    for title, table in blocks:
        yield Text("")
        yield Text(title, style="bold cyan")
        yield table
    reasons = [f"{field}: {reason}" for field, reason in replay.not_evaluated.items()]
    for title, lines, style in (
        ("Warnings", replay.warnings, "bold yellow"),
        ("Not evaluated", reasons, "bold cyan"),
    ):
        body = screen.bullets(lines)
        if body is not None:
            yield Text("")
            yield Text(title, style=style)
            yield body


def _account(replay: EndpointReplay, screen: Screen) -> Table:
    table = grid("", ">requests", ">tokens")
    for line in account(replay):
        style = "bold" if line.kind == "sum" else ""
        text = line.text if line.kind == "sum" else f"- {line.text}"
        requests = "" if line.requests is None else count(line.requests)
        table.add_row(Text(screen.safe(text), style=style), requests, Text(line.shown, style=style))
    return table


def _first_tokens(replay: EndpointReplay) -> Table:
    table = grid("", ">requests", ">p50", ">p95", ">p99")
    for kind, spread in replay.ttft.items():
        figures = (
            ["-"] * 3 if spread is None else [milliseconds(at) for at in (spread.p50, spread.p95, spread.p99)]
        )
        table.add_row(kind, count(0 if spread is None else spread.count), *figures)
    return table


def _counters(replay: EndpointReplay) -> Table:
    table = grid("", ">before", ">after", ">rise")
    for row in counter_rows(replay):
        table.add_row(*row)
    return table
