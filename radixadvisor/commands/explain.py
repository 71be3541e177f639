"""``radixadvisor explain``: why one request matched as far as it did."""

from __future__ import annotations

from typing import Annotated

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, NoColor, Out, Quiet, Tokenizer
from radixadvisor.errors import UsageError

__all__ = ["explain"]

RESULT_FILE = "explain.json"


def explain(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG ID",
            help="The log (files, globs, or - for standard input), then the id of one of its requests.",
            show_default=False,
        ),
    ],
    worst: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Instead of an id: list the N that lose most.", show_default=False
        ),
    ] = None,
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Explain one request: what it matched, with whom, where they part, and what each fix would change."""
    from radixadvisor.analysis import AnalyzeOptions, open_trace
    from radixadvisor.analysis.advice import advise
    from radixadvisor.analysis.explain import explain as run
    from radixadvisor.analysis.explain import find_request
    from radixadvisor.analysis.explain import worst as worst_of
    from radixadvisor.analysis.explain_fixes import after_fixes, after_serving
    from radixadvisor.analysis.measure import NOTHING_TOLD, measure
    from radixadvisor.analysis.serving import with_serving
    from radixadvisor.commands.output import emit, note, progress, screen
    from radixadvisor.report import explain as shown
    from radixadvisor.report.write import require_writable, write_file

    name = None
    if worst is None:
        *logs, name = logs
        if not logs:
            raise UsageError("explain takes a log and the id of one request; --worst 20 lists ids.")
    if out is not None:
        require_writable(out)
    with progress(quiet=quiet, no_color=no_color) as report_progress:
        options = AnalyzeOptions(
            format=format, tokenizer=tokenizer, chat_template=chat_template, progress=report_progress
        )
        trace, _ = open_trace(logs, options)
    index = None if name is None else find_request(trace, name)
    advice = advise(trace)
    measured = measure(trace, advice.order_gain)
    advice = with_serving(trace, measured, advice, NOTHING_TOLD)
    if index is None:
        losses = worst_of(trace, measured, worst or 1)
        result = shown.worst_to_json(losses)
        line = " ".join(loss.request_id for loss in losses)
        text = shown.render_worst(losses, screen(no_color=no_color))
    else:
        found = run(trace, measured, index)
        fixes = after_fixes(trace, index, advice.prescriptions) + after_serving(trace, index, advice)
        result = shown.to_json(found, fixes)
        line = shown.quiet_line(found)
        text = shown.render(found, fixes, screen(no_color=no_color))
    if out is not None:
        written = write_file(out / RESULT_FILE, result, private=True)
        if not quiet:
            note(f"Wrote {written}.")
    if json:
        emit(result.decode())
    elif quiet:
        from radixadvisor.report.escape import visible

        emit(visible(line) + "\n")
    else:
        emit(text)
