"""What all terminal reports are laid out with: a screen, tables without lines, lists, and text from a log."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from radixadvisor.report.escape import clip, visible
from radixadvisor.report.numbers import bar

__all__ = ["Screen", "grid"]

_LONGEST_NOTE = 240


@dataclass(frozen=True, slots=True)
class Screen:
    """What a report is laid out for. ``unicode`` is False where the encoding lacks bars and lines."""

    width: int = 80
    color: bool = False
    unicode: bool = True

    def text(self, blocks: Iterable[RenderableType]) -> str:
        """Blocks one below the other, no line wider than the screen."""
        file = io.StringIO()
        console = Console(
            file=file,
            width=self.width,
            force_terminal=self.color,
            color_system="standard" if self.color else None,
            legacy_windows=False,
            highlight=False,
            emoji=False,
            markup=False,
            _environ={},
        )
        for block in blocks:
            console.print(block)
        text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
        return text if self.unicode else text.replace("…", "~")

    def safe(self, text: str) -> str:
        """Text from a log, visible and in characters that the screen has."""
        text = visible(text)
        if self.unicode:
            return text
        return text.replace("…", "~").encode("ascii", "backslashreplace").decode()

    def bar(self, share: float, width: int) -> str:
        """A bar of ``share`` of ``width`` cells."""
        return bar(share, width, ascii_only=not self.unicode)

    def bullets(self, lines: Iterable[str]) -> RenderableType | None:
        """A list whose wrapped lines stay indented; None if it is empty."""
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=1)
        table.add_column(overflow="fold")
        for line in lines:
            table.add_row(Text("-"), Text(clip(self.safe(line), _LONGEST_NOTE)))
        return table if table.row_count else None


def grid(*columns: str, header: bool = True) -> Table:
    """A table without lines. A column starting with ``>`` is right-aligned, ``*`` takes what room is left.

    Where room is short the words of a left-aligned column wrap, so that figures stay whole.
    """
    table = Table(box=None, show_header=header, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(
            Text(column.lstrip(">*")),
            justify="right" if column.startswith(">") else "left",
            no_wrap=column.startswith((">", "*")),
            overflow="ellipsis" if column.startswith((">", "*")) else "fold",
            ratio=1 if column.startswith("*") else None,
        )
    table.expand = any(column.startswith("*") for column in columns)
    return table
