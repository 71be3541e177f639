"""The advice in the skill report: the order to use, what to move where and why, what to look for in code."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.rules import Rule, rule
from radixadvisor.report.advice import FindingRow, FixRow
from radixadvisor.report.escape import clip, code, prose
from radixadvisor.report.numbers import count
from radixadvisor.report.view import BUCKETS, View

__all__ = ["advice_section", "losses_section"]

_SAFETY = {
    "safe": "safe: the client's own code writes these values",
    "review": "review it: the model reads content in another place or form",
    "never": "unsafe: do not apply without testing what the model then does",
}
_SERVING_SAFETY = {
    "safe": "safe: what the model reads stays the same",
    "review": "review it: it costs something or changes how some requests are served",
}

_ORDER: tuple[tuple[str, frozenset[str]], ...] = (
    ("Instructions that are the same in all requests, byte for byte.", frozenset()),
    (
        "Tool definitions: one list per application, sorted by name, keys sorted, descriptions fixed.",
        frozenset({"RA201", "RA202", "RA203", "RA204"}),
    ),
    (
        "Long blocks that never change, such as guidelines and examples.",
        frozenset({"RA303", "RA305", "RA306"}),
    ),
    ("What belongs to one user or session.", frozenset({"RA104", "RA105"})),
    ("The history: appended to, never changed in between.", frozenset()),
    (
        "Retrieved documents, ordered by id where rank does not matter.",
        frozenset({"RA302", "RA304", "RA307"}),
    ),
    ("Memory, notes and status that change from turn to turn.", frozenset({"RA301"})),
    ("The question.", frozenset()),
    ("Clock, ids and other values of this one request.", frozenset({"RA101", "RA102", "RA103", "RA106"})),
)


def advice_section(shown: View) -> Iterator[str]:
    """What to change; nothing where nothing was diagnosed."""
    advice = shown.advice
    if not advice.summary:
        return
    yield "## What to change, in this order"
    yield ""
    yield prose(advice.summary)
    yield ""
    for fix in advice.fixes:
        yield from _fix(fix)
    moved = {row.rule for fix in advice.fixes if not fix.setting for row in fix.findings}
    if moved:
        yield from _section_order(moved)
    if advice.unfixed:
        yield "### What no change repairs"
        yield ""
        for row in advice.unfixed:
            yield from _finding(row)
        yield ""
    if advice.checked:
        yield "Tried without gain: " + ", ".join(advice.checked) + "."
        yield ""


def _fix(fix: FixRow) -> Iterator[str]:
    yield f"### {fix.id}. {prose(fix.title)}"
    yield ""
    cost = f"; {fix.cost}" if fix.cost else ""
    yield (
        f"Saves {fix.gain} computed tokens behind the changes above (95 % of resampled sessions: "
        f"{fix.interval}; alone: {fix.alone}){cost}. Hit rate of {fix.profile} then: {fix.rate}."
    )
    safety = _SERVING_SAFETY if fix.setting else _SAFETY
    yield f"Safety: {safety.get(fix.safety, fix.safety)}."
    yield ""
    if fix.setting:
        yield f"Change in serving, not in the prompts: {code(fix.setting)}"
        yield ""
    for row in fix.findings:
        yield from _finding(row)
    yield ""
    for number in dict.fromkeys(row.rule for row in fix.findings):
        yield from _how(rule(number))


def _finding(row: FindingRow) -> Iterator[str]:
    yield f"- **{row.rule}** {prose(row.title)} ({row.requests}, {row.lost} tokens)."
    if row.serving:
        yield f"  First at {code(row.place)}: {prose(row.before)}; {prose(row.after)}."
        return
    yield f"  First at {code(row.place)}: {code(clip(row.before, 60))} became {code(clip(row.after, 60))}."


def _how(entry: Rule) -> Iterator[str]:
    """Why a rule matters and how code avoids it: the project's own words, nothing from the log."""
    yield " ".join(entry.why.split())
    yield ""
    yield "Instead of"
    yield ""
    yield from _block(entry.example)
    yield "write"
    yield ""
    yield from _block(entry.use_instead)
    yield "Look in the client's code for " + ", ".join(code(text) for text in entry.client_patterns) + "."
    yield ""


def _block(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"    {line}".rstrip()
    yield ""


def _section_order(found: set[str]) -> Iterator[str]:
    yield "### The order of sections to use"
    yield ""
    wanted = [(text, rules) for text, rules in _ORDER if not rules or rules & found]
    for number, (text, rules) in enumerate(wanted, start=1):
        named = ", ".join(sorted(rules & found))
        yield f"{number}. {text}" + (f" ({named})" if named else "")
    yield ""


def losses_section(shown: View) -> Iterator[str]:
    """Who loses most, where that was asked for."""
    breakdown = shown.analysis.by
    if breakdown is None or not shown.losses:
        return
    yield f"## Who loses most, by {breakdown.by}"
    yield ""
    yield "| Name | Requests | Prompt tokens | Served | Lost | Mostly |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for row in shown.losses:
        figures = [
            count(number) for number in (row.requests, row.prompt_tokens, row.served_tokens, row.lost_tokens)
        ]
        cause = BUCKETS[row.cause] if row.cause else "-"
        yield "| " + " | ".join([code(clip(row.name, 60)), *figures, cause]) + " |"
    yield ""
