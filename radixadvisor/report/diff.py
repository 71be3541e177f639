"""Two reports against each other: as JSON, as one line, and for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.analysis.diff import BETTER, NOISE, UNKNOWN, WORSE, Change, Diff
from radixadvisor.analysis.saved import Saved, SavedFinding
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import count, percent, plural
from radixadvisor.report.view import BUCKETS

__all__ = ["SCHEMA", "quiet_line", "render", "sentence", "to_json"]

SCHEMA = "radixadvisor/diff/1"

_DECIMALS = 9
_NARROW = 76
_MOST = 12
_TITLE = 200
_STYLES = {BETTER: "bold green", WORSE: "bold red", NOISE: "bold yellow", UNKNOWN: "bold"}


def to_json(diff: Diff, paths: tuple[Path, Path]) -> bytes:
    """The whole comparison: ASCII, and the same bytes for the same two reports."""
    from radixadvisor import __version__

    findings = diff.findings
    body = {
        "schema": SCHEMA,
        "version": __version__,
        "outcome": diff.outcome,
        "summary": sentence(diff),
        "profile": diff.profile,
        "before": _side(diff.before, paths[0]),
        "after": _side(diff.after, paths[1]),
        "comparable": not diff.doubts,
        "doubts": list(diff.doubts),
        "rates": [_change("profile", row) for row in diff.rates],
        "per_request": [_change("tokens", row) for row in diff.per_request],
        "ledger": [_change("bucket", row) for row in diff.ledger],
        "findings": None
        if findings is None
        else {
            "gone": [_finding(item, diff) for item in findings.gone if item not in diff.unseen],
            "unseen": [_finding(item, diff) for item in diff.unseen],
            "new": [_finding(item, diff) for item in findings.new],
            "still_there": [
                {**_finding(new, diff), "lost_tokens_before": old.lost_tokens} for old, new in findings.still
            ],
        },
        "promise": None
        if diff.promise is None
        else {
            "prescriptions": list(diff.promise.ids),
            "profile": diff.promise.profile,
            "rate": diff.promise.rate,
            "reached": _number(diff.promise.reached),
        },
        "not_evaluated": {"findings": diff.undiagnosed} if diff.undiagnosed else {},
    }
    return (json.dumps(body, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def _side(report: Saved, path: Path) -> dict[str, Any]:
    return {
        "file": str(path),
        "log": list(report.files),
        "requests": report.requests,
        "prompt_tokens": report.prompt_tokens,
        "sessions": None if report.noise is None else report.noise.sessions,
        "headline": report.headline,
    }


def _change(key: str, row: Change) -> dict[str, Any]:
    interval = (
        None if row.low is None or row.high is None else {"low": _number(row.low), "high": _number(row.high)}
    )
    return {
        key: row.name,
        "before": _number(row.before),
        "after": _number(row.after),
        "change": _number(row.change),
        "interval": interval,
        "beyond_noise": row.beyond_noise,
    }


def _finding(item: SavedFinding, diff: Diff) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "title": clip(mask(item.title), _TITLE),
        "severity": item.severity,
        "profile": item.profile,
        "application": _application(item, diff),
        "request_id": item.where.request_id,
        "path": item.where.path,
        "requests": item.requests,
        "lost_tokens": item.lost_tokens,
    }


def _application(item: SavedFinding, diff: Diff) -> str:
    """The log's name of an application, else its id."""
    if not item.application:
        return ""
    for report in (diff.after, diff.before):
        for known in report.applications:
            if known.id == item.application and known.name:
                return clip(mask(known.name), _TITLE)
    return f"application {item.application[:6]}"


def sentence(diff: Diff) -> str:
    """What became of the computed tokens, the measure of a fix: hits alone reward longer prompts."""
    row = diff.per_request[0]
    if row.before is None or row.after is None or row.change is None:
        return f"Nothing can be said of {diff.profile}: the second report does not have it."
    moved = f"computed tokens per request went from {row.before:,.0f} to {row.after:,.0f}"
    if row.before:
        moved += f" ({row.change / row.before:+.1%})"
    rates = (
        f"hit rate from {percent(diff.before.rate(diff.profile))} to {percent(diff.after.rate(diff.profile))}"
    )
    told = {
        BETTER: "Better, beyond noise",
        WORSE: "Worse, beyond noise",
        NOISE: "No change beyond noise",
        UNKNOWN: "Whether this is noise cannot be told",
    }[diff.outcome]
    return f"{told}: {moved}, the {rates} ({diff.profile})."


def quiet_line(diff: Diff) -> str:
    """The comparison in one line."""
    parts = [sentence(diff).removesuffix(".")]
    if diff.findings is not None:
        gone = len(diff.findings.gone) - len(diff.unseen)
        parts.append(
            f"findings: {gone} gone, {len(diff.findings.new)} new, {len(diff.findings.still)} still there"
        )
    if diff.doubts:
        parts.append(plural(len(diff.doubts), "doubt"))
    return "; ".join(parts)


def render(diff: Diff, screen: Screen) -> str:
    """The whole comparison, no line wider than the screen."""
    return screen.text(_blocks(diff, screen))


def _blocks(diff: Diff, screen: Screen) -> Iterator[RenderableType]:
    yield Text(screen.safe(sentence(diff)), style=_STYLES[diff.outcome])
    if diff.promise is not None:
        yield Text(_promised(diff))
    doubts = screen.bullets(diff.doubts)
    if doubts is not None:
        yield from _titled("Not the same traffic or measure", doubts)
    yield from _titled("Hit rate", _table("cache", diff.rates, screen, {diff.profile}))
    yield from _titled("Tokens per request", _table("tokens", diff.per_request, screen, set(), tokens=True))
    buckets = [
        Change(BUCKETS.get(row.name, row.name), row.before, row.after, row.low, row.high)
        for row in diff.ledger
        if row.before or row.after
    ]
    if buckets:
        yield from _titled("Where each prompt token went", _table("bucket", buckets, screen, set()))
    yield Text("")
    yield Text(_note(diff), style="dim")
    yield from _findings(diff, screen)


def _titled(title: str, body: RenderableType) -> Iterator[RenderableType]:
    yield Text("")
    yield Text(title, style="bold cyan")
    yield body


def _promised(diff: Diff) -> str:
    promise = diff.promise
    assert promise is not None
    made = f"{', '.join(promise.ids)} {'was' if len(promise.ids) == 1 else 'were'} made"
    return (
        f"The first report foresaw {percent(promise.rate)} under {promise.profile} once {made}; the second "
        f"has {percent(promise.reached)}."
    )


def _note(diff: Diff) -> str:
    if diff.before.noise is None or diff.after.noise is None:
        return "A report of fewer than five sessions, or of an older version, tells no noise: no intervals."
    sessions = f"{count(diff.before.noise.sessions)} and {count(diff.after.noise.sessions)} sessions"
    return f"* more than noise: the 95% interval of the change, over {sessions} drawn anew, leaves out 0."


def _table(
    name: str, rows: Sequence[Change], screen: Screen, headline: set[str], *, tokens: bool = False
) -> RenderableType:
    wide = screen.width >= _NARROW
    table = grid(name, ">before", ">after", ">change", *((">95% interval",) if wide else ()))
    for row in rows:
        mark = "*" if row.beyond_noise else ""
        interval = "-" if row.low is None else f"{_moved(row.low, tokens)} to {_moved(row.high, tokens)}"
        table.add_row(
            Text(screen.safe(row.name)),
            _figure(row.before, tokens),
            _figure(row.after, tokens),
            f"{_moved(row.change, tokens)}{mark}",
            *((interval,) if wide else ()),
            style="bold" if row.name in headline else "",
        )
    return table


def _figure(value: float | None, tokens: bool) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if tokens else percent(value)


def _moved(value: float | None, tokens: bool) -> str:
    if value is None:
        return "-"
    return f"{value:+,.0f}" if tokens else f"{value * 100:+.1f}"


def _findings(diff: Diff, screen: Screen) -> Iterator[RenderableType]:
    found = diff.findings
    if found is None:
        yield from _titled("Findings", Text(screen.safe(f"Not compared: {diff.undiagnosed}.")))
        return
    still = tuple(new for _, new in found.still)
    before = {id(new): old.lost_tokens for old, new in found.still}
    groups = (
        ("Gone", tuple(item for item in found.gone if item not in diff.unseen), "green"),
        ("Not to be told, as the second log lacks the application", diff.unseen, "dim"),
        ("New", found.new, "red"),
        ("Still there", still, "yellow"),
    )
    for title, items, style in groups:
        table = grid("rule", "*finding", ">lost")
        for item in items[:_MOST]:
            application = _application(item, diff)
            told = f"{clip(mask(item.title), _TITLE)}" + (f" ({application})" if application else "")
            lost = f"{count(before[id(item)])} to {count(item.lost_tokens)}" if id(item) in before else ""
            table.add_row(
                Text(item.rule, style=style), Text(screen.safe(told)), lost or count(item.lost_tokens)
            )
        if items:
            yield from _titled(f"{title}: {plural(len(items), 'finding')}", table)
    if not any(items for _, items, _ in groups):
        yield from _titled("Findings", Text("None before, none after."))
