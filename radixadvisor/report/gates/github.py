"""A check as workflow commands of GitHub Actions, which annotate files."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.analysis.gate.results import FAIL, PASS, SKIP
from radixadvisor.records import Source
from radixadvisor.report.escape import visible
from radixadvisor.report.gates.view import CheckView, GateRow, summary

__all__ = ["to_github"]

_LEVELS = {FAIL: "error", SKIP: "warning", PASS: "notice"}
_STDIN = "-"


def to_github(view: CheckView) -> str:
    """Failed gates first: GitHub shows ten annotations of a kind in a step."""
    order = (FAIL, SKIP, PASS)
    lines = [
        line for status in order for row in view.gates if row.status == status for line in _gate(row, view)
    ]
    level = {0: "notice", 1: "error"}.get(view.checked.exit_code, "error")
    return "\n".join([*lines, _command(level, "radixadvisor check", summary(view), None)]) + "\n"


def _gate(row: GateRow, view: CheckView) -> Iterator[str]:
    title = f"{row.status} {row.name}"
    yield _command(_LEVELS[row.status], title, f"{row.told}: {row.reason}", row.source)
    for item in view.findings:
        if row.name in item.breaks:
            cost = f"{item.finding.lost_tokens:,} tokens lost, {item.finding.where.path}"
            yield _command("error", f"{item.rule} ({row.name})", f"{item.title}: {cost}", item.source)


def _command(level: str, title: str, message: str, source: Source | None) -> str:
    where = {}
    if source is not None and source.file != _STDIN:
        where = {"file": source.file, "line": str(max(source.line, 1))}
    properties = ",".join(f"{name}={_property(value)}" for name, value in {**where, "title": title}.items())
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """Escaped as the runner unescapes it; control characters are shown, so that no line begins a command."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
