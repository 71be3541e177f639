"""A check for a terminal: a line for each gate, then what broke them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from radixadvisor.analysis.gate.results import FAIL, PASS, SKIP
from radixadvisor.records import Source
from radixadvisor.report.escape import mask
from radixadvisor.report.gates.view import CheckView, FoundRow, GateRow, summary
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import compact, count, percent, plural
from radixadvisor.report.view import BUCKETS

__all__ = ["place_of", "render"]

_STYLES = {PASS: "green", FAIL: "bold red", SKIP: "yellow"}
_MOST = 12
_MOST_GROUPS = 8
_INDENT = 6


def render(view: CheckView, screen: Screen) -> str:
    """The whole check, no line wider than the screen."""
    return screen.text(_blocks(view, screen))


def _blocks(view: CheckView, screen: Screen) -> Iterator[RenderableType]:
    for row in view.gates:
        yield _gate(row, screen)
    breaking = [row for row in view.findings if row.breaks]
    if breaking:
        yield Text("")
        yield Text("What broke them", style="bold cyan")
        for found in breaking[:_MOST]:
            yield _finding(found, screen)
        if len(breaking) > _MOST:
            yield Text(f"and {plural(len(breaking) - _MOST, 'finding')} more: --json lists all", style="dim")
    if view.by is not None:
        yield Text("")
        yield Text(f"Who loses most, by {view.by.by}", style="bold cyan")
        yield _losses(view, screen)
    notes = screen.bullets(view.notes)
    if notes is not None:
        yield Text("")
        yield notes
    yield Text("")
    yield Text(summary(view), style=_STYLES[FAIL if view.checked.exit_code else PASS])


def _gate(row: GateRow, screen: Screen) -> RenderableType:
    head = Text.assemble(
        (f"{row.status}  ", _STYLES[row.status]), (screen.safe(row.name), "bold"), f"  {row.told}"
    )
    where = "" if row.source is None else f" ({place_of(row.source)})"
    return Group(head, Padding(Text(screen.safe(row.reason + where), style="dim"), (0, 0, 0, _INDENT)))


def _finding(row: FoundRow, screen: Screen) -> RenderableType:
    item = row.finding
    head = Text.assemble((row.rule, "bold"), f"  {screen.safe(row.title)}")
    source = "" if row.source is None else f"{place_of(row.source)} "
    cost = f"{count(item.lost_tokens)} tokens in {plural(item.requests, 'request')} under {item.profile}"
    told = f"{source}{item.where.path}: {cost}"
    return Group(head, Padding(Text(screen.safe(told), style="dim"), (0, 0, 0, _INDENT)))


def place_of(source: Source) -> str:
    """``file:line``."""
    return f"{source.file}:{source.line}"


def _losses(view: CheckView, screen: Screen) -> RenderableType:
    assert view.by is not None
    table = grid("*name", ">requests", ">served", ">lost", "most to")
    for row in view.by.rows[:_MOST_GROUPS]:
        table.add_row(
            Text(screen.safe(mask(row.name) or "(not named)")),
            count(row.requests),
            percent(row.served_tokens / row.prompt_tokens if row.prompt_tokens else None),
            compact(row.lost_tokens),
            BUCKETS[row.cause] if row.cause else "-",
        )
    return table
