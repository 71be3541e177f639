"""``radixadvisor convert``: a log as a token trace or as an anonymous hash trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, Logs, NoColor, Quiet, Tokenizer
from radixadvisor.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from radixadvisor.trace import Trace

__all__ = ["SCHEMA", "convert"]

SCHEMA = "radixadvisor/convert/1"
PARQUET = "parquet"
ASSUMED_OUTPUT = 256


def convert(
    logs: Logs,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="File to write; *.parquet is a token trace."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to write: parquet, mooncake or bailian (JSONL).",
            show_default="by FILE's ending",
        ),
    ] = None,
    salt: Annotated[
        str | None,
        typer.Option(help="Secret that the hashes of a hash trace depend on.", show_default=False),
    ] = None,
    output_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Length, in a hash trace, of outputs for which the log has none.",
            show_default=str(ASSUMED_OUTPUT),
        ),
    ] = None,
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    json: Json = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Write a log as a Parquet trace of tokens, or as a Mooncake or Bailian trace of salted hashes."""
    from radixadvisor.commands.output import emit, note, progress
    from radixadvisor.ingest import no_usable_input, read_log
    from radixadvisor.report.escape import visible
    from radixadvisor.report.numbers import plural
    from radixadvisor.report.write import require_writable
    from radixadvisor.trace import TokenOptions, build_trace
    from radixadvisor.trace.files import UNITS, save_hashes, save_parquet

    target = _target(out, to, sorted(UNITS))
    if target == PARQUET and (salt is not None or output_tokens is not None):
        raise UsageError("--salt and --output-tokens shape hash traces; a Parquet trace keeps the tokens.")
    if target != PARQUET and not salt:
        raise UsageError(f"A {target} trace is anonymous by its salt: give --salt SECRET.")
    require_writable(out.parent)

    log = read_log(logs, format)
    assumed = ASSUMED_OUTPUT if output_tokens is None else output_tokens
    with progress(quiet=quiet, no_color=no_color) as report_progress:
        trace = build_trace(log, TokenOptions(tokenizer, chat_template, assumed), progress=report_progress)
    if not trace.requests:
        raise no_usable_input(log)
    if target == PARQUET or salt is None:
        rows = save_parquet(trace, out)
    else:
        rows = save_hashes(trace, out, target, salt)
        guessed = trace.output_sources["assumed length"]
        if guessed and not quiet:
            note(f"{plural(guessed, 'output')} of unknown length taken as {assumed} tokens.")
    if json:
        import json as encoder

        emit(encoder.dumps(_summary(trace, out, target, rows), indent=2) + "\n")
        return
    emit(f"Wrote {visible(str(out))} ({target}): {plural(rows, 'request')}.\n")
    if trace.skips.total and not quiet:
        note(f"Skipped {plural(trace.skips.total, 'record')}: {visible(trace.skips.sentence())}.")


def _target(out: Path, to: str | None, hashes: list[str]) -> str:
    if to is None:
        if out.suffix == f".{PARQUET}":
            return PARQUET
        raise UsageError(f"What shall {out} be? Name it *.parquet, or give --to {' or --to '.join(hashes)}.")
    if to.lower() not in (PARQUET, *hashes):
        raise UnknownName("trace format", to, (PARQUET, *hashes))
    return to.lower()


def _summary(trace: Trace, out: Path, target: str, rows: int) -> dict[str, Any]:
    skips = trace.skips
    return {
        "schema": SCHEMA,
        "file": str(out),
        "format": target,
        "requests": rows,
        "skipped": {
            "count": skips.total,
            "reasons": dict(sorted(skips.reasons.items())),
            "examples": dict(sorted(skips.examples.items())),
        },
    }
