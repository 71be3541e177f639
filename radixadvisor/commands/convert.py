"""``radixadvisor convert``: a log as a token trace, an anonymous hash trace, or the input of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, Logs, NoColor, Quiet, Tokenizer
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.records import LONGEST_OUTPUT, Request

if TYPE_CHECKING:
    from radixadvisor.ingest import SkipCounter

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
            help="What to write: parquet, mooncake, bailian, openai, aiperf or vllm-bench (JSONL).",
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
            max=LONGEST_OUTPUT,
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
    """Write a log as a Parquet trace of tokens, as a Mooncake or Bailian trace of salted hashes, as plain
    OpenAI chat requests, or as the input of AIPerf or of vLLM's benchmark.
    """
    from radixadvisor.commands.output import note, progress
    from radixadvisor.ingest import no_usable_input, read_log
    from radixadvisor.report.numbers import plural
    from radixadvisor.report.write import require_other, require_writable
    from radixadvisor.trace import TokenOptions, build_trace
    from radixadvisor.trace.exports import EXPORTS, save_requests
    from radixadvisor.trace.files import UNITS, save_hashes, save_parquet

    target = _target(out, to, [*sorted(UNITS), *sorted(EXPORTS)])
    if target not in UNITS and (salt is not None or output_tokens is not None):
        kept = "a Parquet trace keeps the tokens" if target == PARQUET else f"{target} keeps the prompts"
        raise UsageError(f"--salt and --output-tokens shape hash traces; {kept}.")
    if target in UNITS and not salt:
        raise UsageError(f"A {target} trace is anonymous by its salt: give --salt SECRET.")
    require_writable(out.parent)

    log = read_log(logs, format)
    require_other(out, log.paths)
    if target in EXPORTS:
        options = TokenOptions(tokenizer, chat_template)
        requests = (record for record in log if isinstance(record, Request))
        rows = save_requests(requests, out, target, options, log.skips.add)
        if not rows:
            out.unlink(missing_ok=True)
            raise no_usable_input(log)
        _report(log.skips, out, target, rows, json=json, quiet=quiet)
        return
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
    _report(trace.skips, out, target, rows, json=json, quiet=quiet)


def _report(skips: SkipCounter, out: Path, target: str, rows: int, *, json: bool, quiet: bool) -> None:
    """Say what was written, and what was skipped."""
    from radixadvisor.commands.output import emit, note
    from radixadvisor.report.escape import visible
    from radixadvisor.report.numbers import plural

    if json:
        import json as encoder

        emit(encoder.dumps(_summary(skips, out, target, rows), indent=2) + "\n")
        return
    emit(f"Wrote {visible(str(out))} ({target}): {plural(rows, 'request')}.\n")
    if skips.total and not quiet:
        note(f"Skipped {plural(skips.total, 'record')}: {visible(skips.sentence())}.")


def _target(out: Path, to: str | None, hashes: list[str]) -> str:
    if to is None:
        if out.suffix == f".{PARQUET}":
            return PARQUET
        raise UsageError(f"What shall {out} be? Name it *.parquet, or give --to {' or --to '.join(hashes)}.")
    if to.lower() not in (PARQUET, *hashes):
        raise UnknownName("trace format", to, (PARQUET, *hashes))
    return to.lower()


def _summary(skips: SkipCounter, out: Path, target: str, rows: int) -> dict[str, Any]:
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
