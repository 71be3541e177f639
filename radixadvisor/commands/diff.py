"""``radixadvisor diff``: did a deployed change work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Out, Quiet
from radixadvisor.errors import AdvisorError, UsageError

__all__ = ["diff"]

RESULT_FILE = "diff.json"


def diff(
    before: Annotated[
        Path,
        typer.Argument(metavar="BEFORE.json", help="The report.json of the log before.", show_default=False),
    ],
    after: Annotated[
        Path,
        typer.Argument(metavar="AFTER.json", help="The report.json of the log after.", show_default=False),
    ],
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Compare two reports: rates, ledger, computed tokens, findings gone and new, and what of it is noise."""
    from radixadvisor.analysis.diff import compare_reports
    from radixadvisor.analysis.saved import read_report
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.report import diff as shown
    from radixadvisor.report.escape import visible
    from radixadvisor.report.write import require_writable, write_file

    reports, wrong = [], []
    for path in (before, after):
        try:
            reports.append(read_report(path))
        except AdvisorError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError(" ".join(wrong))
    if out is not None:
        require_writable(out)
    found = compare_reports(*reports)
    content = shown.to_json(found, (before, after))
    if out is not None:
        written = write_file(out / RESULT_FILE, content, private=False)
        if not quiet:
            note(f"Wrote {visible(str(written))}.")
    if json:
        emit(content.decode())
    elif quiet:
        emit(visible(shown.quiet_line(found)) + "\n")
    else:
        emit(shown.render(found, screen(no_color=no_color)))
