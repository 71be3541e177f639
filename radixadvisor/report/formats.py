"""The log formats for people: a table of all, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.ingest.handbook import Entry
from radixadvisor.report.layout import Screen

__all__ = ["render_page", "render_table"]


def render_table(chosen: Sequence[Entry], screen: Screen) -> str:
    """Each format with what it can answer and an example line."""
    return screen.text(_table(chosen, screen.width))


def _table(chosen: Sequence[Entry], width: int) -> Iterator[RenderableType]:
    for entry in chosen:
        yield Text.assemble((entry.name, "bold"), "  ", entry.title)
        yield Text(f"    {', '.join(entry.answers)}", style="cyan")
        example = entry.example
        if len(example) > width - 4:
            example = example[: max(8, width - 8)] + " ..."
        yield Text(f"    {example}", style="dim")
    yield Text("")
    yield Text("radixadvisor formats --how NAME shows the settings that produce a usable log.", style="dim")


def render_page(entry: Entry, screen: Screen) -> str:
    """One format: what it tells, what it may lack, how to get it, and a whole example."""
    return screen.text(_page(entry))


def _page(entry: Entry) -> Iterator[RenderableType]:
    yield Text.assemble((entry.name, "bold"), "  ", entry.title)
    if entry.aliases:
        yield Text(f"also: {', '.join(entry.aliases)}", style="dim")
    yield Text(f"Answers: {', '.join(entry.answers)}.")
    if entry.missing:
        yield Text(f"If prompts are missing: {entry.missing}")
    yield Text("")
    yield Text(f"How: {entry.how}")
    yield Text("")
    yield Text(entry.example, style="dim")
