"""What every report of a check shows: values against thresholds in words, and findings with their places.

Names from the log are masked here; each format escapes them its own way. No text of a prompt is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from radixadvisor.analysis.gate.results import FAIL, PASS, SKIP, Checked, Gate
from radixadvisor.analysis.saved import SavedFinding
from radixadvisor.records import Source
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.numbers import plural
from radixadvisor.results import Breakdown

__all__ = ["CheckView", "FoundRow", "GateRow", "check_view", "quiet_line", "summary"]

_LONGEST = 600
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class GateRow:
    """A gate in words. ``told`` is value against threshold; ``source`` where it shows, if at one place."""

    gate: Gate
    name: str
    status: str
    value: str
    threshold: str
    told: str
    reason: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A finding, its place in the log's files, and the names of the gates that it breaks."""

    finding: SavedFinding
    rule: str
    title: str
    source: Source | None
    breaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check. ``files`` are the log's, the first of them the place of what shows nowhere else."""

    checked: Checked
    gates: tuple[GateRow, ...]
    findings: tuple[FoundRow, ...]
    notes: tuple[str, ...]
    files: tuple[str, ...]
    requests: int
    by: Breakdown | None


def check_view(
    checked: Checked,
    findings: Sequence[SavedFinding] = (),
    sources: Mapping[str, Source] | None = None,
    *,
    files: Sequence[str],
    requests: int = 0,
    by: Breakdown | None = None,
) -> CheckView:
    """Arrange a check.

    Args:
        checked: the gates.
        findings: all of the log.
        sources: the place of each request that a finding names, by its id.
        files: the log's, as named.
        requests: how many were read.
        by: who loses most, if that was asked for.
    """
    breaks: dict[SavedFinding, list[str]] = {}
    for gate in checked.gates:
        for item in gate.findings:
            breaks.setdefault(item, []).append(_shown(gate.name))
    rows = [
        FoundRow(
            item,
            item.rule,
            _shown(item.title),
            (sources or {}).get(item.where.request_id),
            tuple(breaks.get(item, ())),
        )
        for item in findings
    ]
    return CheckView(
        checked=checked,
        gates=tuple(_row(gate) for gate in checked.gates),
        findings=tuple(sorted(rows, key=lambda row: not row.breaks)),
        notes=tuple(map(_shown, checked.notes)),
        files=tuple(files),
        requests=requests,
        by=by,
    )


def summary(view: CheckView) -> str:
    """How the check ended, in a sentence."""
    checked = view.checked
    total = plural(len(view.gates), "gate")
    failed, skipped = checked.count(FAIL), checked.count(SKIP)
    if failed:
        more = f", {skipped} could not be evaluated" if skipped else ""
        return f"{failed} of {total} failed{more}."
    if skipped or not view.gates:
        return f"{skipped} of {total} could not be evaluated: that is no pass."
    return f"{total} held."


def quiet_line(view: CheckView) -> str:
    """The whole check in one line."""
    order = {FAIL: 0, SKIP: 1, PASS: 2}
    gates = sorted(view.gates, key=lambda row: order[row.status])
    return f"{_outcome(view.checked)}: " + "; ".join(f"{row.status} {row.name} {row.told}" for row in gates)


def _outcome(checked: Checked) -> str:
    return {0: "held", 1: "failed"}.get(checked.exit_code, "not evaluated")


def _row(gate: Gate) -> GateRow:
    value, threshold = _figures(gate)
    limit = f"{'at least' if gate.floor else 'at most'} {threshold}"
    return GateRow(
        gate=gate,
        name=_shown(gate.name),
        status=gate.status,
        value=value,
        threshold=limit,
        told=f"{value} ({limit})",
        reason=_shown(gate.reason),
        source=gate.source,
    )


def _shown(text: str) -> str:
    return clip(mask(text), _LONGEST)


def _figures(gate: Gate) -> tuple[str, str]:
    """Value and threshold with as many digits as it takes to tell them apart."""
    if gate.value is None:
        return "not evaluated", _figure(gate.unit, gate.threshold, 1)
    digits = 1
    while digits < _MOST_DIGITS:
        pair = _figure(gate.unit, gate.value, digits), _figure(gate.unit, gate.threshold, digits)
        if pair[0] != pair[1] or gate.value == gate.threshold:
            break
        digits += 1
    return _figure(gate.unit, gate.value, digits), _figure(gate.unit, gate.threshold, digits)


def _figure(unit: str, number: float, digits: int) -> str:
    if unit in ("rate", "share"):
        return f"{number * 100:.{digits}f}%"
    if unit == "points":
        return f"{number * 100:.{digits}f} points"
    return plural(round(number), unit.removesuffix("s"))
