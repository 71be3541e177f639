"""A replay for a terminal: gains, times, the pool, hits against their prediction, whether tokens agree."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.replaying.results import CONFIRMED, Replay, Spread
from radixadvisor.report.escape import clip
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import compact, count, milliseconds, percent, plural
from radixadvisor.report.replay_words import (
    agreement_lines,
    claim_line,
    engine_line,
    headline,
    predicted_seconds,
    remarks,
    speedups,
    times,
)

__all__ = ["render"]

_WIDE = 100


def render(replay: Replay, screen: Screen) -> str:
    """The replay, no line wider than the screen."""
    return screen.text(_blocks(replay, screen))


def _blocks(replay: Replay, screen: Screen) -> Iterator[RenderableType]:
    name = replay.files[0] if len(replay.files) == 1 else plural(len(replay.files), "file")
    facts = [clip(name, 60), replay.dialect, plural(replay.requests, "request")]
    yield Text((" · " if screen.unicode else " | ").join(map(screen.safe, facts)), style="dim")
    yield Text(screen.safe(engine_line(replay)) + ".", style="dim")
    if words := headline(replay):
        yield Text("")
        yield Text(words, style="bold")
    if not replay.complete:
        yield Text("Stopped before the end: only what had ended by then counts.", style="bold yellow")
    if replay.runs:
        for title, table in (
            ("Gain", _gains(replay, screen)),
            ("Time to first token, ms", _first_tokens(replay, screen)),
            ("Throughput and pool", _pools(replay, screen)),
            ("Hit tokens, simulated and measured", _hits(replay, screen)),
        ):
            yield Text("")
            yield Text(title, style="bold cyan")
            yield table
    for title, lines in (
        ("Claims", [claim_line(claim) for claim in replay.claims]),
        ("Tokens", agreement_lines(replay) if replay.runs else []),
        ("Notes", remarks(replay)),
    ):
        body = screen.bullets(lines)
        if body is not None:
            style = (
                "bold cyan" if all(claim.outcome == CONFIRMED for claim in replay.claims) else "bold yellow"
            )
            yield Text("")
            yield Text(title, style=style if title == "Claims" else "bold cyan")
            yield body


def _gains(replay: Replay, screen: Screen) -> Table:
    table = grid("run", ">hits", ">computed", ">prefill s", ">foreseen", ">faster", ">by FLOPs")
    for run in replay.runs:
        seconds, flops = speedups(replay, run)
        table.add_row(
            Text(screen.safe(run.label)),
            percent(run.rate),
            compact(run.computed_tokens),
            f"{run.prefill_seconds:,.2f}",
            "-" if (told := predicted_seconds(replay, run)) is None else f"{told:,.2f}",
            times(seconds),
            times(flops),
        )
    return table


def _first_tokens(replay: Replay, screen: Screen) -> Table:
    wide = screen.width >= _WIDE
    kinds = ("hit", "miss")
    names = ("p50", "p95", "p99") if wide else ("p50", "p95")
    columns = [f">{kind} {name}" for kind in kinds for name in names]
    table = grid("run", *columns, *([">token p50", ">p95"] if wide else [">token"]))
    for run in replay.runs:
        cells = [_ms(run.ttft[kind], name) for kind in kinds for name in names]
        cells += [_ms(run.latency, name) for name in names[: 2 if wide else 1]]
        table.add_row(Text(screen.safe(run.label)), *cells)
    return table


def _pools(replay: Replay, screen: Screen) -> Table:
    wide = screen.width >= _WIDE
    table = grid(
        "run",
        *([">requests/s"] if wide else []),
        ">out tok/s",
        ">running",
        ">evictable",
        ">evicted",
        *([">retractions", ">of the pool"] if wide else []),
    )
    for run in replay.runs:
        pool = run.pool
        per_second = (
            number / run.seconds if run.seconds else 0.0 for number in (run.requests, run.output_tokens)
        )
        requests, tokens = per_second
        cells = [f"{requests:,.1f}"] if wide else []
        cells += [f"{tokens:,.0f}", compact(pool.running), compact(pool.evictable), compact(pool.evicted)]
        cells += [count(pool.retractions), percent(pool.used / pool.capacity)] if wide else []
        table.add_row(Text(screen.safe(run.label)), *cells)
    return table


def _hits(replay: Replay, screen: Screen) -> Table:
    table = grid("run", ">before", ">recorded", ">measured", ">requests off")
    for run in replay.runs:
        if run.cache:
            table.add_row(
                Text(screen.safe(run.label)),
                count(run.predicted_tokens),
                count(run.recorded_tokens),
                count(run.hit_tokens),
                count(run.deviating),
            )
    return table


def _ms(spread: Spread | None, name: str) -> str:
    if spread is None:
        return "-"
    return milliseconds(float(getattr(spread, name)))
