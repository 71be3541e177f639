"""The advice on a screen: each change with its gain, and below it why, where, and the two values."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.report.advice import AdviceView, FindingRow, FixRow
from radixadvisor.report.escape import clip
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import plural

__all__ = ["advice_block"]

_MOST_FIXES = 5
_MOST_FINDINGS = 2
_MOST_UNFIXED = 2
_IN_FULL = 2
_SAFETY = {"safe": "green", "review": "yellow", "never": "red"}


def advice_block(advice: AdviceView, screen: Screen) -> RenderableType | None:
    """The changes and what cannot be changed, at most one screen; None where nothing was diagnosed."""
    if not advice.summary:
        return None
    parts: list[RenderableType] = [Text(advice.summary)]
    for number, fix in enumerate(advice.fixes[:_MOST_FIXES]):
        parts += [_head(fix, screen, header=not number), *_below(fix, screen, whole=number < _IN_FULL)]
    if advice.unfixed:
        parts.append(Text("Nothing to change, but to know:" if advice.fixes else "To know:"))
    for row in advice.unfixed[:_MOST_UNFIXED]:
        parts += [_named(row, screen), *_where(row, screen)]
    rest = len(advice.fixes) - _MOST_FIXES
    if rest > 0:
        more = plural(rest, "more change")
        parts.append(Text(f"and {more}: see prescriptions in report.json", style="dim"))
    if advice.checked:
        parts.append(Text(f"Tried without gain: {', '.join(advice.checked)}.", style="dim"))
    return Group(*parts)


def _head(fix: FixRow, screen: Screen, *, header: bool) -> Table:
    """A change and its figures; the columns of all changes stand below each other."""
    table = grid("", "*change", "safety", ">saves", ">rate after", header=header)
    for column, width in zip(table.columns, (3, None, 6, 10, 10), strict=True):
        column.min_width = width
    safety = Text(fix.safety, style=_SAFETY.get(fix.safety, ""))
    table.add_row(Text(fix.id), Text(screen.safe(fix.title)), safety, fix.gain, fix.rate, style="bold")
    return table


def _below(fix: FixRow, screen: Screen, *, whole: bool) -> Iterator[Text]:
    """The rules that a change answers; with ``whole`` also where they show first, and the price."""
    for row in fix.findings[:_MOST_FINDINGS]:
        yield _named(row, screen)
    if fix.setting:
        yield from _setting(fix, screen)
    if whole:
        for row in fix.findings[:1]:
            yield from _where(row, screen)
        if fix.cost:
            yield Text(f"     {fix.cost}", style="dim")


def _setting(fix: FixRow, screen: Screen) -> Iterator[Text]:
    """What to set; on as many lines as it takes, since it is to be copied."""
    lines = wrap(screen.safe(fix.setting), max(screen.width - 10, 8), break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield Text("     " + ("set: " if not number else "     ")).append(line, style="green")


def _named(row: FindingRow, screen: Screen) -> Text:
    return _line(Text(f"     {row.rule} ", style="cyan").append(screen.safe(row.title), style="default"))


def _where(row: FindingRow, screen: Screen) -> Iterator[Text]:
    """The place and the two values, each line cut at the edge of the screen."""
    arrow = "→" if screen.unicode else "->"
    yield _line(Text(screen.safe(f"     {row.requests}, first {row.place}"), style="dim"))
    if row.serving:
        for line in (f"     {row.before}", f"     {arrow} {row.after}"):
            yield _line(Text(screen.safe(line), style="dim"))
        return
    room = max((screen.width - 8) // 2, 8)
    before, after = (clip(screen.safe(value) or "(nothing)", room) for value in (row.before, row.after))
    yield _line(Text(f"     {before} {arrow} {after}", style="dim"))


def _line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
