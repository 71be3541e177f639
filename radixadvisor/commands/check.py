"""``radixadvisor check``: gates for a build server, each value against its threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from radixadvisor.commands.options import ChatTemplate, Json, Logs, NoColor, Out, Quiet, Tokenizer
from radixadvisor.errors import NoUsableInput, UnknownName, UsageError
from radixadvisor.records import LONGEST_OUTPUT

if TYPE_CHECKING:
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.analysis.gate.asked import Asked
    from radixadvisor.analysis.gate.results import Gate
    from radixadvisor.report.gates.view import CheckView

__all__ = ["FORMATS", "check"]

FORMATS = ("text", "json", "sarif", "junit", "github")
RESULT_FILE = "check.json"

_GATES = "Gates"


def check(
    logs: Logs,
    min_hit_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Least hit rate of the headline profile: 0.8 or 80%.",
            show_default=False,
            rich_help_panel=_GATES,
        ),
    ] = None,
    max_lost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT",
            help="Most that a rule (RA101), rules (RA1xx, all) or a bucket of the ledger (elsewhere) may "
            "cost, in tokens or in % of the prompt tokens; repeatable.",
            show_default=False,
            rich_help_panel=_GATES,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT",
            help="An earlier report.json, for the next two.",
            show_default=False,
            rich_help_panel=_GATES,
        ),
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option(
            metavar="POINTS",
            help="Most that the hit rate may fall behind that report's: 2 is from 80% to 78%.",
            show_default=False,
            rich_help_panel=_GATES,
        ),
    ] = None,
    no_new_findings: Annotated[
        bool,
        typer.Option(
            "--no-new-findings", help="No finding that is not in that report.", rich_help_panel=_GATES
        ),
    ] = False,
    lock: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prompts begin as 'radixadvisor lock' recorded it.",
            show_default=False,
            rich_help_panel=_GATES,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="With --lock: applications that are new or gone fail too.",
            rich_help_panel=_GATES,
        ),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Cache whose hit rate counts: unlimited, sglang, vllm, trtllm ...",
            show_default="the headline profile",
            rich_help_panel=_GATES,
        ),
    ] = None,
    format: Annotated[
        str, typer.Option(metavar="NAME", help="Form of the result: text, json, sarif, junit or github.")
    ] = "text",
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Dialect of the log instead of the detected one (--format in other commands).",
            show_default=False,
        ),
    ] = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    output_tokens: Annotated[
        int,
        typer.Option(min=0, max=LONGEST_OUTPUT, help="Length of outputs for which the log has no length."),
    ] = 256,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only requests with this app, model, replica, session, tenant or user; repeatable.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only requests that arrived at this time or later.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N requests.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also show who loses most, by app, tenant, model or session.",
            show_default=False,
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="The KV pool of each replica.", show_default="never full"),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Replicas that take turns, where the log does not name them.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Hold a log to gates, for a build server.

    Exit code 0 if all hold, 1 if one fails, 3 if one could not be evaluated and none failed. --out DIR keeps
    check.json, and report.json for a later --against.
    """
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.analysis.gate.asked import Wanted, asked_of
    from radixadvisor.analysis.gate.evaluate import not_evaluated
    from radixadvisor.commands.output import progress
    from radixadvisor.ingest.files import expand
    from radixadvisor.report.gates.view import check_view
    from radixadvisor.report.write import require_writable

    with progress(quiet=quiet, no_color=no_color) as report_progress:

        def options() -> AnalyzeOptions:
            return AnalyzeOptions(
                format=dialect,
                tokenizer=tokenizer,
                chat_template=chat_template,
                output_tokens=output_tokens,
                where=tuple(where or ()),
                since=since,
                limit=limit,
                by=by,
                capacity=capacity,
                replicas=replicas,
                progress=report_progress,
            )

        asked = asked_of(
            Wanted(
                min_hit_rate=min_hit_rate,
                profile=profile,
                max_lost=tuple(max_lost or ()),
                against=against,
                max_drop=max_drop,
                no_new_findings=no_new_findings,
                lock=lock,
                strict=strict,
            ),
            others=(
                lambda: _require_format(format, json=json),
                options,
                lambda: expand(logs),
                lambda: None if out is None else require_writable(out),
            ),
        )
        form = "json" if json else format.lower()
        try:
            view, report = _evaluated(logs, options(), asked)
        except NoUsableInput as error:
            nothing = check_view(not_evaluated(asked, str(error)), files=logs)
            _show(nothing, form, None, b"", quiet=quiet, no_color=no_color)
            raise
    _show(view, form, out, report, quiet=quiet, no_color=no_color)
    if view.checked.exit_code:
        raise typer.Exit(view.checked.exit_code)


def _require_format(format: str, *, json: bool) -> None:
    if format.lower() not in FORMATS:
        raise UnknownName("form of the result", format, FORMATS)
    if json and format.lower() not in ("text", "json"):
        raise UsageError(f"--json and --format {format} are two forms of the result: give one of them.")


def _evaluated(logs: list[str], options: AnalyzeOptions, asked: Asked) -> tuple[CheckView, bytes]:
    """The gates on a log, and its report.json."""
    from radixadvisor.analysis import analyze_trace, open_trace
    from radixadvisor.analysis.gate.evaluate import evaluate
    from radixadvisor.analysis.gate.locked import lock_gates, lock_notes
    from radixadvisor.analysis.lock.compare import compare
    from radixadvisor.analysis.lock.measured import find_applications
    from radixadvisor.analysis.saved import saved
    from radixadvisor.report.gates.view import check_view
    from radixadvisor.report.json import to_dict, to_json
    from radixadvisor.report.numbers import plural

    trace, log = open_trace(logs, options)
    analysis = analyze_trace(trace, log, options)
    now = saved(to_dict(analysis))
    notes = []
    if analysis.input.skipped.count:
        notes.append(
            f"{plural(analysis.input.skipped.count, 'record')} of the log skipped: {trace.skips.sentence()}."
        )
    gates: tuple[Gate, ...] = ()
    if asked.lock is not None:
        compared = compare(trace, asked.lock, find_applications(trace))
        gates = lock_gates(compared, strict=asked.strict)
        notes += lock_notes(compared, strict=asked.strict)
    wanted = {item.where.request_id for item in now.findings}
    sources = {request.id: request.source for request in reversed(trace.requests) if request.id in wanted}
    view = check_view(
        evaluate(asked, now, gates, notes),
        now.findings,
        sources,
        files=analysis.input.files,
        requests=analysis.input.requests,
        by=analysis.by,
    )
    return view, to_json(analysis)


def _show(
    view: CheckView, form: str, out: Path | None, report: bytes, *, quiet: bool, no_color: bool
) -> None:
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.report.escape import visible
    from radixadvisor.report.gates.view import quiet_line
    from radixadvisor.report.write import REPORT_FILE, write_file

    if out is not None:
        from radixadvisor.report.gates.json import to_json

        written = [
            write_file(out / RESULT_FILE, to_json(view), private=False),
            write_file(out / REPORT_FILE, report, private=True),
        ]
        if not quiet:
            note("Wrote " + " and ".join(visible(str(path)) for path in written) + ".")
    if form != "text":
        emit(_formatted(view, form))
    elif quiet:
        emit(visible(quiet_line(view)) + "\n")
    else:
        from radixadvisor.report.gates.text import render

        emit(render(view, screen(no_color=no_color)))


def _formatted(view: CheckView, form: str) -> str:
    if form == "json":
        from radixadvisor.report.gates.json import to_json

        return to_json(view).decode()
    if form == "sarif":
        from radixadvisor.report.gates.sarif import to_sarif

        return to_sarif(view).decode()
    if form == "junit":
        from radixadvisor.report.gates.junit import to_junit

        return to_junit(view)
    from radixadvisor.report.gates.github import to_github

    return to_github(view)
