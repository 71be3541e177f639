"""``radixadvisor lock``: keep the static prefix of each application of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, Logs, NoColor, Quiet, Tokenizer

__all__ = ["lock"]


def lock(
    logs: Logs,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")] = Path(
        "prefix.lock"
    ),
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
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    json: Json = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Record what the prompts of each application begin with, for 'check --lock': lengths and hashes, no
    text. A prefix is what nearly all conversations share, cut back to whole lines.
    """
    from radixadvisor.analysis import AnalyzeOptions, open_trace
    from radixadvisor.analysis.lock.measured import find_applications, lock_of
    from radixadvisor.commands.output import emit, note, progress, screen
    from radixadvisor.errors import NoUsableInput
    from radixadvisor.report import lock as shown
    from radixadvisor.report.escape import visible
    from radixadvisor.report.write import require_other, require_writable, write_file

    require_writable(out.parent)
    with progress(quiet=quiet, no_color=no_color) as report_progress:
        trace, log = open_trace(
            logs,
            AnalyzeOptions(
                format=format,
                tokenizer=tokenizer,
                chat_template=chat_template,
                where=tuple(where or ()),
                since=since,
                limit=limit,
                progress=report_progress,
            ),
        )
    require_other(out, log.paths)
    found = lock_of(find_applications(trace))
    if not found.applications:
        reasons = "; ".join(f"{item.applications:,}: {item.reason}" for item in found.unlocked)
        raise NoUsableInput(f"No application has a prefix to lock ({reasons or 'the log shows no prompts'}).")
    written = write_file(out, shown.to_toml(found).encode(), private=False)
    if not quiet:
        note(f"Wrote {visible(str(written))}.")
    if json:
        emit(shown.to_json(found).decode())
    elif quiet:
        emit(visible(shown.quiet_line(found)) + "\n")
    else:
        emit(shown.render(found, screen(no_color=no_color)))
