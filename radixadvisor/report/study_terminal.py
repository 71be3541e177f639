"""A study for a terminal: runs side by side, where each token went, where their difference comes from."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.report.escape import clip
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import compact, count, percent, plural
from radixadvisor.report.study import Run, Study, quantiles
from radixadvisor.report.view import BUCKETS

__all__ = ["differences", "quiet_line", "render"]


_FIGURES = 63
"""Cells that all figures of a run take beside its label."""


def render(study: Study, screen: Screen) -> str:
    """The study, no line wider than the screen."""
    return screen.text(_blocks(study, screen))


def quiet_line(study: Study) -> str:
    """All runs in one line."""
    return ", ".join(f"{run.result.label} {percent(run.result.rate)}" for run in study.runs)


def differences(study: Study) -> list[str]:
    """What sets each run apart from the first one, in tokens and seconds, and where eviction makes it."""
    lines = []
    for other in study.comparisons:
        first, *more = other.reasons
        lines += [f"{other.b} against {other.a}: {first}", *more]
    return lines + [
        f"one after the other: {count(tokens)} tokens served by {what}" for what, tokens in study.eviction
    ]


def _blocks(study: Study, screen: Screen) -> Iterator[RenderableType]:
    name = study.files[0] if len(study.files) == 1 else plural(len(study.files), "file")
    facts = [clip(name, 60), study.dialect, plural(len(study.ids), "request")]
    facts.append(plural(study.prompt_tokens, "prompt token"))
    yield Text((" · " if screen.unicode else " | ").join(map(screen.safe, facts)), style="dim")
    yield Text("")
    yield _runs(study, screen)
    yield Text("")
    yield Text("Where each prompt token went", style="bold cyan")
    yield _ledgers(study, screen)
    notes = [f"{run.result.label}: {note}" for run in study.runs for note in run.result.notes]
    missing = [f"{field}: {reason}" for field, reason in study.not_evaluated.items()]
    for title, lines in (("Differences", differences(study)), ("Notes", notes), ("Not evaluated", missing)):
        body = screen.bullets(lines)
        if body is not None:
            yield Text("")
            yield Text(title, style="bold cyan")
            yield body


def _runs(study: Study, screen: Screen) -> Table:
    wide = screen.width >= _FIGURES + max(len(run.result.label) for run in study.runs)
    more = (">evicted", ">prefill s", ">decode s") if wide else ()
    table = grid("run", ">served", ">rate", *more, ">TTFT p50", ">p95")
    for run in study.runs:
        totals, ttft = run.result.totals, quantiles(run.result.ttft)
        cells = [compact(run.result.served_tokens), percent(run.result.rate)]
        if wide:
            prefill = totals.prefill_seconds + totals.mixed_seconds
            spent = compact(totals.evicted_tokens), f"{prefill:,.1f}", f"{totals.decode_seconds:,.1f}"
            cells += spent if run.cache != "hosted" else "---"
        table.add_row(
            Text(screen.safe(run.result.label)), *cells, _seconds(ttft["p50"]), _seconds(ttft["p95"])
        )
    return table


def _ledgers(study: Study, screen: Screen) -> Table:
    """One row per bucket, one column per run; with a single run also its tokens and a bar."""
    shown = [
        row.bucket for row in study.runs[0].ledger if any(_tokens(run, row.bucket) for run in study.runs)
    ]
    words = {name: BUCKETS.get(name, name) for name in shown}
    if len(study.runs) > 1:
        table = grid("", *(f">{clip(run.result.label, 20)}" for run in study.runs))
        for name in shown:
            table.add_row(Text(words[name]), *(percent(_share(run, name)) for run in study.runs))
        return table
    run = study.runs[0]
    table = grid("", ">tokens", ">share", "*", header=False)
    width = max(screen.width - max(map(len, words.values()), default=0) - 28, 8)
    for name in shown:
        share = _share(run, name)
        cells = (
            count(_tokens(run, name)),
            percent(share),
            Text(screen.bar(share or 0.0, width), style="green"),
        )
        table.add_row(Text(words[name]), *cells)
    return table


def _tokens(run: Run, bucket: str) -> int | None:
    return next((row.tokens for row in run.ledger if row.bucket == bucket), None)


def _share(run: Run, bucket: str) -> float | None:
    return next((row.share for row in run.ledger if row.bucket == bucket), None)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"
