"""Where a command's words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from radixadvisor.errors import OutputError

if TYPE_CHECKING:
    from radixadvisor.report.terminal import Screen

__all__ = ["emit", "note", "progress", "screen", "stages"]

_NARROWEST = 40


def emit(text: str) -> None:
    """Print a result.

    Raises:
        BrokenPipeError: the reader has closed the pipe; the caller ends quietly.
        OutputError: standard output is closed or cannot take more.
    """
    if sys.stdout is None:
        raise OutputError("Standard output is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"Cannot write to standard output: {error.strerror or error}.") from error


def note(text: str) -> None:
    """Tell a person something that is not part of the result."""
    if sys.stderr is not None:
        print(text, file=sys.stderr)


def screen(*, no_color: bool) -> Screen:
    """What standard output can show: its width, whether colour is wanted, whether its encoding has bars."""
    from radixadvisor.report.terminal import Screen

    plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    width = shutil.get_terminal_size((80, 24)).columns
    return Screen(
        width=max(width, _NARROWEST),
        color=not plain and sys.stdout is not None and sys.stdout.isatty(),
        unicode=_encodes("█░▏├└│…·", getattr(sys.stdout, "encoding", None)),
    )


def _encodes(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def progress(*, quiet: bool, no_color: bool) -> Iterator[Callable[[int], None] | None]:
    """A running count of requests on standard error, if a person watches it; else None."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.completed:,.0f} requests"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True, no_color=no_color or None), transient=True) as shown:
        task = shown.add_task("requests", total=None)
        yield lambda done: shown.update(task, completed=done)


@contextmanager
def stages(*, quiet: bool, no_color: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar of how much is done of how much on standard error, if a person watches it; else None."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("replay"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True, no_color=no_color or None), transient=True) as shown:
        task = shown.add_task("replay", total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
