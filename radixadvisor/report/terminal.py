"""The report for a terminal: one text, laid out for a width, with or without colour and box characters.

Rendering gives a string, so that a closed pipe, a file and a test see the same thing. Every string from a log
is masked, made visible, and wrapped in rich ``Text``: never parsed as markup.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.report.advice_terminal import advice_block
from radixadvisor.report.escape import clip
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import compact, count, mib, percent, plural
from radixadvisor.report.prediction import prediction_view
from radixadvisor.report.prediction_terminal import prediction_block
from radixadvisor.report.reasons import remedy
from radixadvisor.report.verdict import verdict_lines, verdict_sentence
from radixadvisor.report.view import BOUNDS, BUCKETS, BranchRow, View, view
from radixadvisor.results import Analysis

__all__ = ["Screen", "render"]

_MOST_NOTES = 4
_MOST_REASONS = 5
_MOST_GROUNDS = 3
_DEEPEST = 5
_NARROW = 76


def render(analysis: Analysis, screen: Screen) -> str:
    """The whole report: about sixty lines, none wider than the screen."""
    return screen.text(_Page(view(analysis, branches=8, capacities=10), screen).blocks())


class _Page:
    """One view on one screen."""

    def __init__(self, shown: View, screen: Screen) -> None:
        self._shown = shown
        self._screen = screen
        self._wide = screen.width >= _NARROW
        self._worth = prediction_view(shown.analysis.prediction)
        self._verdict = shown.analysis.verdict

    def blocks(self) -> Iterator[RenderableType]:
        shown = self._shown
        yield Text(
            (" · " if self._screen.unicode else " | ").join(map(self._screen.safe, shown.subject)),
            style="dim",
        )
        yield Text("")
        yield Text(self._screen.safe(shown.headline), style="bold")
        yield Text("")
        yield self._hits()
        yield Text(f"* headline profile. {shown.sessions}", style="dim")
        sections: tuple[tuple[str, RenderableType | None], ...] = (
            ("What to change, in this order", advice_block(shown.advice, self._screen)),
            (f"Who loses most, by {shown.analysis.by.by}" if shown.analysis.by else "", self._losses()),
            (verdict_sentence(self._verdict.main) if self._verdict else "", self._decision()),
            (f"What it is worth: {self._worth.title}" if self._worth else "", self._prediction()),
            ("Heaviest shared branches", self._branches() if shown.branches else None),
            ("Hit rate by cache size", self._capacity() if shown.capacity else None),
            ("Where each prompt token went", self._ledger() if shown.ledger else None),
            (f"Skipped {plural(shown.analysis.input.skipped.count, 'record')}", self._skipped()),
            ("Assumptions", self._assumptions()),
            ("Not evaluated", self._missing()),
        )
        for title, body in sections:
            if body is not None:
                yield Text("")
                yield Text(self._screen.safe(title), style="bold cyan")
                yield body

    def _hits(self) -> Table:
        rates = (">mean/request", ">requests hit") if self._wide else (">mean", ">hit")
        table = grid("cache", ">tokens", ">of tokens", *rates)
        for row in self._shown.hits:
            table.add_row(
                Text(self._screen.safe(row.name) + ("*" if row.headline else "")),
                count(row.hits.tokens),
                percent(row.hits.rate),
                percent(row.rates.mean_per_request if row.rates else None),
                percent(row.rates.share_of_requests_hit if row.rates else None),
                style="bold" if row.headline else "",
            )
        return table

    def _decision(self) -> RenderableType | None:
        if self._verdict is None:
            return None
        return self._screen.bullets(verdict_lines(self._verdict, _MOST_GROUNDS))

    def _prediction(self) -> RenderableType | None:
        return prediction_block(self._worth, self._screen)

    def _branches(self) -> Table:
        table = grid("*text", ">tokens", ">requests", ">saved", *([">pin MiB"] if self._wide else []))
        rows = self._shown.branches
        for row, guide in zip(rows, _guides(rows, self._screen.unicode), strict=True):
            cell = Text(guide, style="dim")
            if row.label:
                cell.append(clip(self._screen.safe(row.label), 24), style="cyan").append(" ")
            cell.append(self._screen.safe(row.excerpt), style="not dim")
            figures = [compact(row.branch.tokens), compact(row.branch.requests), compact(row.branch.saved)]
            table.add_row(cell, *figures, *([mib(row.branch.pin_mib)] if self._wide else []))
        return table

    def _capacity(self) -> Group:
        rows = self._shown.capacity
        with_gib = any(row.gib is not None for row in rows)
        table = grid(">tokens", *([">GiB"] if with_gib else []), ">LRU", ">optimal", "*")
        width = max(self._screen.width - (40 if with_gib else 30), 10)
        solid, light = ("█", "░") if self._screen.unicode else ("#", ".")
        for row in rows:
            lru = self._screen.bar(row.lru_rate, width)
            best = self._screen.bar(row.optimal_rate or 0.0, width)
            cell = Text(lru, style="green").append(light * max(len(best) - len(lru), 0), style="dim")
            gib = ["-" if row.gib is None else f"{row.gib:,.2f}"] if with_gib else []
            table.add_row(compact(row.tokens), *gib, percent(row.lru_rate), percent(row.optimal_rate), cell)
        legend = f"{solid} evicting the least recently used  {light} what the best eviction would add"
        return Group(table, Text(legend, style="dim"))

    def _ledger(self) -> RenderableType:
        rows = self._shown.ledger
        table = grid("bucket", ">tokens", ">share", "*", header=False)
        words = max(len(BUCKETS.get(row.bucket, row.bucket)) for row in rows)
        width = max(self._screen.width - words - 28, 8)
        for row in rows:
            style = {"served": "green", "first_seen": "dim"}.get(row.bucket, "yellow")
            table.add_row(
                Text(BUCKETS.get(row.bucket, self._screen.safe(row.bucket))),
                count(row.tokens),
                percent(row.share),
                Text(self._screen.bar(row.share or 0.0, width), style=style),
            )
        bounds = ", ".join(f"{BOUNDS[name]} {percent(rate)}" for name, _, rate in self._shown.bounds)
        return Group(table, Text(f"Bounds: {bounds}.", style="dim"))

    def _losses(self) -> RenderableType | None:
        if not self._shown.losses:
            return None
        table = grid("*name", ">requests", ">tokens", ">served", ">lost", *(["mostly"] if self._wide else []))
        for row in self._shown.losses:
            figures = [compact(row.requests), compact(row.prompt_tokens), compact(row.served_tokens)]
            cause = BUCKETS[row.cause] if row.cause else "-"
            table.add_row(
                Text(self._screen.safe(row.name)),
                *figures,
                compact(row.lost_tokens),
                *([cause] if self._wide else []),
            )
        return table

    def _skipped(self) -> RenderableType | None:
        rows = self._shown.skipped
        lines = []
        for row in rows[:_MOST_REASONS]:
            places = ", ".join(clip(place, 60) for place in row.examples[:3])
            lines.append(f"{count(row.count)} x {row.reason}" + (f": {places}" if places else ""))
        if len(rows) > _MOST_REASONS:
            rest = plural(len(rows) - _MOST_REASONS, "more reason")
            lines.append(f"and {rest}: see input.skipped in report.json")
        return self._screen.bullets(lines)

    def _assumptions(self) -> RenderableType | None:
        notes = [f"{item.text} ({item.effect})" for item in self._shown.analysis.assumptions]
        if len(notes) > _MOST_NOTES:
            rest = len(notes) - _MOST_NOTES
            notes = [*notes[:_MOST_NOTES], f"and {rest} more: see assumptions in report.json"]
        return self._screen.bullets(notes)

    def _missing(self) -> RenderableType | None:
        lines = []
        for reason, names in self._shown.missing:
            advice = remedy(names)
            lines.append(f"{', '.join(names)}: {reason}" + (f" -> {advice}" if advice else ""))
        if len(lines) > _MOST_REASONS:
            rest = plural(len(lines) - _MOST_REASONS, "more reason")
            lines = [*lines[:_MOST_REASONS], f"and {rest}: see not_evaluated in report.json"]
        return self._screen.bullets(lines)


def _guides(rows: tuple[BranchRow, ...], unicode: bool) -> list[str]:
    """The lines of a tree before each row; levels below the deepest shown one share its indentation."""
    bend, tee, pipe = ("└ ", "├ ", "│ ") if unicode else ("` ", "|-", "| ")
    open_levels: list[bool] = []
    guides = []
    for row in rows:
        level = min(row.level, _DEEPEST)
        del open_levels[level:]
        trunk = "".join(pipe if is_open else "  " for is_open in open_levels[1:])
        guides.append(trunk + ((bend if row.last else tee) if level else ""))
        open_levels.append(not row.last)
    return guides
