"""Options that mean the same in every command that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ChatTemplate", "Format", "Json", "Logs", "NoColor", "Out", "Quiet", "Tokenizer"]

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG",
        help="Request logs: files, globs or - for standard input; also .gz, .zst and .parquet.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Dialect of the log instead of the detected one.", show_default=False),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|DIR",
        help="Vocabulary by name or a model directory, instead of the one of the log's model.",
        show_default=False,
    ),
]
ChatTemplate = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="Chat template by family or a jinja file, instead of the one of the log's model.",
        show_default=False,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on standard output, and nothing else.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for result files.", show_default="./outputs"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print one line.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour; NO_COLOR=1 does the same.")]
