"""``radixadvisor rewrite``: a log with chosen fixes in it, in the dialect that it came in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, NoColor, Quiet, Tokenizer

__all__ = ["rewrite"]


def rewrite(
    log: Annotated[str, typer.Argument(metavar="LOG", help="One request log; - is standard input.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="File to write; .gz and .zst are packed."),
    ],
    apply: Annotated[
        str,
        typer.Option(
            metavar="RULES",
            help="Rules whose fixes to make, such as RA101,RA201, or all-safe. A fix that needs a review "
            "is made only if one of its rules is named.",
        ),
    ],
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    json: Json = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Write a log anew with chosen fixes of its prompts, as analyze prescribes them, and say what changed.

    Records that no fix touches stay byte for byte what they are. A dialect that cannot be written back gives
    OpenAI chat requests, and a remark says so.
    """
    from radixadvisor.analysis import AnalyzeOptions, open_trace
    from radixadvisor.commands.output import emit, note, progress, screen
    from radixadvisor.report import rewrite as shown
    from radixadvisor.report.escape import visible
    from radixadvisor.report.write import require_other, require_writable
    from radixadvisor.rewriting.choose import named
    from radixadvisor.rewriting.conduct import rewrite_log

    names = named(apply)
    require_writable(out.parent)
    with _file_of(log) as source:
        with progress(quiet=quiet, no_color=no_color) as report_progress:
            trace, opened = open_trace(
                [str(source)],
                AnalyzeOptions(
                    format=format, tokenizer=tokenizer, chat_template=chat_template, progress=report_progress
                ),
            )
        require_other(out, opened.paths)
        found = rewrite_log(trace, opened, source, out, names)
    if not quiet:
        note(f"Wrote {visible(found.file)}.")
    if json:
        for remark in shown.remarks(found):
            note(visible(remark))
        emit(shown.to_json(found).decode())
    elif quiet:
        for remark in shown.remarks(found):
            note(visible(remark))
        emit(visible(shown.quiet_line(found)) + "\n")
    else:
        emit(shown.render(found, screen(no_color=no_color)))


@contextmanager
def _file_of(name: str) -> Iterator[Path]:
    """The log as a file that can be read twice; standard input is spooled.

    Raises:
        UsageError: several files are meant, or there is none.
    """
    import shutil
    import sys
    import tempfile

    from radixadvisor.errors import UsageError
    from radixadvisor.ingest.files import expand

    inputs = expand([name])
    if len(inputs) > 1:
        raise UsageError(f"{name} is {len(inputs)} files; rewrite takes one log and writes one.")
    if inputs[0].path is not None:
        yield inputs[0].path
        return
    with tempfile.TemporaryDirectory() as folder:
        spool = Path(folder) / "stdin"
        with spool.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield spool
