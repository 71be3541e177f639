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
    if found.timed and screen.width < _NARROW:
        parts.append(Text("req/s: at saturation; times are in report.json.", style="dim"))
    elif found.timed:
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
    """All columns on a wide screen, the first ones on a narrow one."""
    wide = screen.width >= _NARROW
    columns = ["engine", ">hits", ">saved", ">req/s" if found.timed else ">gain"]
    if found.timed and wide:
        columns += [">TTFT", ">GPUs", ">TTFT by load"]
    table = grid(*columns)
    for row in found.rows:
        name = row.name if wide else row.name.partition(" (")[0]
        cells = [name, row.rate, row.saved, row.throughput, row.ttft or "-", row.gpus]
        cells.append(" ".join(row.shares) or "-")
        table.add_row(*(Text(cell) for cell in cells[: len(columns)]))
    return table
