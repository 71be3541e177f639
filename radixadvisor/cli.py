"""The command line, and the only place where an exception becomes an exit code.

0    done, or the reader closed the pipe
1    a gate failed
2    wrong usage, or a result that could not be written
3    nothing could be evaluated, or a defect of this program
130  interrupted
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TextIO

import typer

from radixadvisor.commands.analyze import analyze
from radixadvisor.commands.calibrate import calibrate
from radixadvisor.commands.check import check
from radixadvisor.commands.convert import convert
from radixadvisor.commands.diff import diff
from radixadvisor.commands.explain import explain
from radixadvisor.commands.formats import formats
from radixadvisor.commands.gpus import gpus
from radixadvisor.commands.lock import lock
from radixadvisor.commands.models import models
from radixadvisor.commands.replay import replay
from radixadvisor.commands.rewrite import rewrite
from radixadvisor.commands.rules import rules
from radixadvisor.commands.simulate import simulate
from radixadvisor.errors import AdvisorError

__all__ = ["app", "main"]

EXIT_USAGE = 2
EXIT_DEFECT = 3
EXIT_INTERRUPTED = 130

DEBUG = "RADIXADVISOR_DEBUG"

_FLAGS = frozenset({"--json", "--quiet", "-q", "--no-color"})
_VALUED = frozenset({"--out", "-o"})

# typer has shipped click's exceptions from two packages over time; the base class is found by name.
_CLICK_ERROR: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

app = typer.Typer(
    name="radixadvisor",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command()(analyze)
app.command()(calibrate)
app.command()(check)
app.command()(convert)
app.command()(diff)
app.command()(explain)
app.command()(formats)
app.command()(gpus)
app.command()(lock)
app.command()(models)
app.command()(replay)
app.command()(rewrite)
app.command()(rules)
app.command()(simulate)


def _print_version(wanted: bool) -> None:
    if wanted:
        from radixadvisor import __version__
        from radixadvisor.commands.output import emit

        emit(f"radixadvisor {__version__}\n")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A profiler for the prefix cache: how much of your prefill repeats, and why it is not free."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` by default) and return its exit code; never raises, never exits."""
    arguments = _hoist(list(sys.argv[1:] if argv is None else argv))
    streams = sys.stdout, sys.stderr
    for stream in streams:
        # A lone surrogate from a file name must not end a report.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        Path.cwd()
    except FileNotFoundError:
        return _fail("The current folder has been removed; change to another one.", EXIT_USAGE)
    try:
        return _run(arguments)
    finally:
        # typer wraps the streams when a pipe breaks.
        sys.stdout, sys.stderr = streams


def _run(arguments: list[str]) -> int:
    try:
        result = app(arguments or ["--help"], prog_name="radixadvisor", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except AdvisorError as error:
        return _fail(str(error), error.exit_code)
    except _CLICK_ERROR as error:
        return _fail(_usage(error), EXIT_USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("Interrupted.", EXIT_INTERRUPTED)
    except BrokenPipeError:
        return _closed_pipe()
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return _closed_pipe()
        return leaving.code if isinstance(leaving.code, int) else EXIT_DEFECT
    except Exception as error:
        return _defect(error)
    if result == EXIT_INTERRUPTED:
        return _fail("Interrupted.", EXIT_INTERRUPTED)
    if not arguments:
        return EXIT_USAGE
    return result if isinstance(result, int) else 0


def _hoist(arguments: list[str]) -> list[str]:
    """Move global options from before the command to behind it, where every command declares them."""
    moved: list[str] = []
    while arguments:
        first = arguments[0]
        name, equals, _ = first.partition("=")
        if first in _FLAGS or (equals and name in _VALUED):
            size = 1
        elif first in _VALUED and len(arguments) > 1:
            size = 2
        else:
            break
        moved += arguments[:size]
        arguments = arguments[size:]
    if not moved or not arguments:
        return moved + arguments
    return [arguments[0], *moved, *arguments[1:]]


def _usage(error: BaseException) -> str:
    """A usage error of the parser as one sentence that says where to read on."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "radixadvisor"
    stop = "" if message.endswith(("?", ".")) else "."
    return f"{message}{stop} See '{command} --help'."


def _fail(sentence: str, code: int) -> int:
    from radixadvisor.report.escape import visible

    try:
        print(f"radixadvisor: {visible(sentence)}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        _silence(sys.stderr)
    return code


def _defect(error: Exception) -> int:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    message = f"{type(error).__name__}: {error}".rstrip(": ")
    return _fail(f"A defect of this program: {message}. {DEBUG}=1 shows where.", EXIT_DEFECT)


def _closed_pipe() -> int:
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            _silence(stream)
    return 0


def _silence(stream: TextIO) -> None:
    """Send what is still buffered to nowhere, so that the flush at interpreter exit does not complain."""
    try:
        stream.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
