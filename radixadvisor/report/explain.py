"""An explanation of one request, and the list of the worst ones, for a terminal and as JSON.

Prompt text is masked for both; the terminal's is made visible, JSON's is ASCII.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.analysis.explain import Explanation, Loss, Match, Side
from radixadvisor.analysis.explain_fixes import FixedMatch
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import count, duration, percent
from radixadvisor.report.view import BUCKETS

__all__ = ["SCHEMA", "quiet_line", "render", "render_worst", "split_masked", "to_json", "worst_to_json"]

SCHEMA = "radixadvisor/explain/1"
_LONGEST_ID = 60


def split_masked(lead: str, text: str) -> tuple[str, str]:
    """A shared lead and the text behind it, masked as the one text that they are.

    Where a secret lies across the border, all of it goes into the second part.
    """
    whole = mask(lead + text)
    return (lead, whole[len(lead) :]) if whole.startswith(lead) else ("", whole)


def quiet_line(found: Explanation) -> str:
    """The whole explanation in one line."""
    matched = found.match.tokens if found.match else 0
    lines = [f"{found.request_id}: {count(matched)} of {count(found.prompt_tokens)} tokens matched."]
    return " ".join([*lines, found.reason, *_told(found)])


def _told(found: Explanation) -> Iterator[str]:
    """What serving did, in sentences; first that the text is innocent, if it is."""
    if found.innocent:
        yield "The text is innocent."
    for cause in found.causes:
        yield cause.text


def render(found: Explanation, fixes: Sequence[FixedMatch], screen: Screen) -> str:
    """The explanation, no line wider than the screen."""
    return screen.text((*_blocks(found, screen), *_fixes(fixes, screen)))


def _blocks(found: Explanation, screen: Screen) -> Iterator[RenderableType]:
    facts = [clip(found.request_id, _LONGEST_ID), found.source]
    facts.append(f"request {count(found.position)} of {count(found.requests)}")
    if found.session is not None:
        facts.append(f"session {clip(found.session, _LONGEST_ID)}")
    yield Text((" · " if screen.unicode else " | ").join(map(screen.safe, facts)), style="dim")
    yield Text("")
    yield Text(screen.safe(found.reason), style="bold")
    if found.innocent:
        yield Text("The text is innocent: serving lost the most.", style="bold")
    yield Text("")
    table = grid("", "*", header=False)
    total = found.prompt_tokens
    table.add_row("prompt", f"{count(total)} tokens")
    if found.match is not None:
        table.add_row("matched", Text(screen.safe(_match(found.match, total))))
    if found.apart is not None:
        apart = f"{_match(found.apart, total)}, but its namespace forbids it"
        table.add_row("kept apart", Text(screen.safe(apart)))
    served = dict(found.buckets)["served"]
    table.add_row("served", f"{count(served)} ({percent(served / total)}) by {found.headline}")
    yield table
    if found.here is not None and found.there is not None:
        yield Text("")
        yield Text("Where they part", style="bold cyan")
        for name, side, style in (("this", found.here, "green"), ("other", found.there, "yellow")):
            yield Text(screen.safe(f"{name}: {_place(side)}"), style="dim")
            lead, text = split_masked(found.shared, side.text)
            shown = Text("  ").append(screen.safe(lead), style="dim")
            yield shown.append(screen.safe(text) or "(nothing more)", style=style)
    if found.causes:
        yield Text("")
        yield Text("What serving did", style="bold cyan")
        causes = grid("", "", header=False)
        for cause in found.causes:
            causes.add_row(Text(cause.rule or "", style="cyan"), Text(screen.safe(cause.text)))
        yield causes
    yield Text("")
    yield Text("Where its tokens went", style="bold cyan")
    ledger = grid("bucket", ">tokens", ">share", header=False)
    for name, tokens in found.buckets:
        if tokens:
            ledger.add_row(BUCKETS[name], count(tokens), percent(tokens / total))
    yield ledger


def _fixes(fixes: Sequence[FixedMatch], screen: Screen) -> Iterator[RenderableType]:
    yield Text("")
    yield Text("What it would match after a change", style="bold cyan")
    if not fixes:
        yield Text("No change that is prescribed for this log touches it.")
        return
    table = grid("", "*change", ">matched", ">of", ">share")
    for fix in fixes:
        figures = count(fix.tokens), count(fix.prompt_tokens), percent(fix.tokens / fix.prompt_tokens)
        table.add_row(Text(fix.id), Text(screen.safe(mask(fix.title))), *figures)
    yield table


def _match(match: Match, total: int) -> str:
    ago = "" if match.seconds_ago is None else f", {duration(match.seconds_ago)} earlier"
    session = "the same session" if match.same_session else "another session"
    share = percent(match.tokens / total)
    return f"{count(match.tokens)} ({share}) with {clip(match.request_id, _LONGEST_ID)}, {session}{ago}"


def _place(side: Side) -> str:
    where = side.label if side.path is None else f"{side.label}, {side.path}, character {side.start}"
    return f"{clip(side.request_id, _LONGEST_ID)}, {where}"


def render_worst(losses: Sequence[Loss], screen: Screen) -> str:
    """The requests that lose most, one a line."""
    return screen.text(_worst(losses, screen))


def _worst(losses: Sequence[Loss], screen: Screen) -> Iterator[RenderableType]:
    if not losses:
        yield Text("No request loses a token: all that was seen before is served.")
        return
    table = grid("*id", ">prompt", ">served", ">lost", "mostly")
    for loss in losses:
        figures = [count(number) for number in (loss.prompt_tokens, loss.served, loss.lost)]
        table.add_row(Text(screen.safe(loss.request_id)), *figures, BUCKETS[loss.cause])
    yield table
    yield Text("")
    yield Text("lost: seen before and not served. radixadvisor explain LOG ID says why.", style="dim")


def to_json(found: Explanation, fixes: Sequence[FixedMatch]) -> bytes:
    """The explanation as ASCII JSON, prompt text masked."""
    lead = split_masked(found.shared, found.here.text if found.here else "")[0]
    body = {
        "schema": SCHEMA,
        "request_id": found.request_id,
        "source": found.source,
        "session": found.session,
        "position": found.position,
        "requests": found.requests,
        "prompt_tokens": found.prompt_tokens,
        "reason": found.reason,
        "innocent": found.innocent,
        "causes": [
            {
                "name": cause.name,
                "rule": cause.rule,
                "profile": cause.profile,
                "tokens": cause.tokens,
                "text": cause.text,
            }
            for cause in found.causes
        ],
        "match": _match_row(found.match),
        "apart": _match_row(found.apart),
        "divergence": None
        if found.here is None or found.there is None
        else {
            "shared": lead,
            "this": _side_row(found.shared, found.here),
            "other": _side_row(found.shared, found.there),
        },
        "headline": found.headline,
        "served": found.served,
        "ledger": [{"bucket": name, "tokens": tokens} for name, tokens in found.buckets],
        "after_fixes": [
            {
                "id": fix.id,
                "title": mask(fix.title),
                "safety": fix.safety,
                "tokens": fix.tokens,
                "prompt_tokens": fix.prompt_tokens,
            }
            for fix in fixes
        ],
    }
    return _dump(body)


def _match_row(match: Match | None) -> dict[str, Any] | None:
    if match is None:
        return None
    return {
        "request_id": match.request_id,
        "tokens": match.tokens,
        "prompt_tokens": match.prompt_tokens,
        "seconds_ago": None if match.seconds_ago is None else round(match.seconds_ago, 6),
        "same_session": match.same_session,
        "in_reply": match.in_reply,
    }


def _side_row(shared: str, side: Side) -> dict[str, Any]:
    return {
        "request_id": side.request_id,
        "path": side.path,
        "start": side.start,
        "end": side.end,
        "label": side.label,
        "text": split_masked(shared, side.text)[1],
    }


def worst_to_json(losses: Sequence[Loss]) -> bytes:
    """The requests that lose most."""
    rows = [
        {
            "request_id": loss.request_id,
            "prompt_tokens": loss.prompt_tokens,
            "served": loss.served,
            "lost": loss.lost,
            "cause": loss.cause,
        }
        for loss in losses
    ]
    return _dump({"schema": SCHEMA, "worst": rows})


def _dump(body: dict[str, Any]) -> bytes:
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode()
