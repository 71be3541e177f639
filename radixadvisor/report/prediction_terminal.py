"""The prediction on a screen: one line per engine, and what stands behind the figures."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.prediction import PredictionView

__all__ = ["prediction_block"]

_NARROW = 76


def prediction_block(found: PredictionView | None, screen: Screen) -> RenderableType | None:
    """The prediction; None if there is none."""
    if found is None:
        return None
    parts: list[RenderableType] = [Text(screen.safe(found.summary)), _engines(found, screen)]
    if found.timed:
        shares = ", ".join(found.shares)
        parts.append(
            Text(
                f"req/s: at saturation; TTFT p50 / p95 in ms at this load; last: p50 at {shares} of each "
                "one's own capacity.",
                style="dim",
            )
        )
    lines = screen.bullets(found.lines)
    if lines is not None:
        parts.append(lines)
    return Group(*parts)


def _engines(found: PredictionView, screen: Screen) -> Table:
    wide = screen.width >= _NARROW
    timed = [">req/s", ">TTFT", ">GPUs", *([">TTFT by load"] if wide else [])] if found.timed else [">gain"]
    table = grid("engine", ">hits", ">saved", *timed)
    for row in found.rows:
        cells = [row.name, row.rate, row.saved, row.throughput]
        if found.timed:
            cells += [row.ttft or "-", row.gpus]
            cells += [" ".join(row.shares) or "-"] if wide else []
        table.add_row(*(Text(cell) for cell in cells))
    return table
