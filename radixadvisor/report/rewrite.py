"""A rewrite in words, and as JSON: schema ``radixadvisor/rewrite/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.report.escape import clip, mask
from radixadvisor.report.layout import Screen
from radixadvisor.report.numbers import count, percent, plural
from radixadvisor.rewriting.results import Change, Left, Rewrite

__all__ = ["SCHEMA", "quiet_line", "remarks", "render", "to_json"]

SCHEMA = "radixadvisor/rewrite/1"
_EXCERPT = 80
_DECIMALS = 6


def render(found: Rewrite, screen: Screen) -> str:
    """The summary, no line wider than the screen."""
    return screen.text(_blocks(found, screen))


def quiet_line(found: Rewrite) -> str:
    """Everything in one line."""
    before, after = found.rates
    return (
        f"{found.changed:,} of {plural(found.requests, 'request')} changed, sglang {percent(before)} -> "
        f"{percent(after)}"
    )


def remarks(found: Rewrite) -> Iterator[str]:
    """What a user has to know of the file beside its changes."""
    if found.dialect != found.read:
        yield f"Written as {found.dialect}, not as {found.read}: {found.why}."
        if found.skipped:
            yield f"{plural(found.skipped, 'record')} that could not be read are not in it."
    elif found.skipped:
        yield f"{plural(found.skipped, 'record')} that could not be read went through as they are."


def _blocks(found: Rewrite, screen: Screen) -> Iterator[RenderableType]:
    before, after = found.rates
    yield Text(
        f"{count(found.changed)} of {plural(found.requests, 'request')} changed. sglang would serve "
        f"{percent(after)} of {count(found.prompt_tokens[1])} prompt tokens, where it serves "
        f"{percent(before)} of {count(found.prompt_tokens[0])}.",
        style="bold",
    )
    for change in found.changes:
        fix = change.prescription
        yield Text("")
        yield Text(screen.safe(f"{fix.id}  {', '.join(fix.rules)}  {fix.title} ({fix.safety})"))
        place = f"{plural(change.requests, 'request')}, first {change.request_id} {change.place}"
        yield Text(screen.safe(mask(place)), style="dim")
        one, two = (screen.safe(_excerpt(text)) for text in (change.before, change.after))
        yield Text(f"- {one}", style="red")
        yield Text(f"+ {two}", style="green")
    lines = [*(_left(item) for item in found.left), *remarks(found)]
    body = screen.bullets(lines)
    if body is not None:
        yield Text("")
        yield body


def _left(item: Left) -> str:
    return f"not applied: {item.name} {item.reason}."


def _excerpt(text: str) -> str:
    return clip(mask(text), _EXCERPT)


def to_json(found: Rewrite) -> bytes:
    """The summary as data; excerpts are masked and short."""
    from radixadvisor import __version__

    before, after = found.rates
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "file": found.file,
        "read": found.read,
        "written": found.dialect,
        "why": found.why,
        "requests": found.requests,
        "changed": found.changed,
        "skipped": found.skipped,
        "prompt_tokens": {"before": found.prompt_tokens[0], "after": found.prompt_tokens[1]},
        "served_tokens": {"before": found.served[0], "after": found.served[1]},
        "rate": {"before": round(before, _DECIMALS), "after": round(after, _DECIMALS)},
        "changes": [_change(change) for change in found.changes],
        "left": [{"name": item.name, "reason": mask(item.reason)} for item in found.left],
    }
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode()


def _change(change: Change) -> dict[str, Any]:
    fix = change.prescription
    return {
        "id": fix.id,
        "rules": list(fix.rules),
        "title": mask(fix.title),
        "safety": fix.safety,
        "requests": change.requests,
        "where": {"request_id": mask(change.request_id), "path": change.place},
        "before": _excerpt(change.before),
        "after": _excerpt(change.after),
    }
