"""The rules for people and programs: a table of all, a page for each, and both as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from radixadvisor.diagnose.rules import FAMILIES, Rule
from radixadvisor.report.layout import Screen, grid

__all__ = ["SCHEMA", "render_page", "render_table", "to_json"]

SCHEMA = "radixadvisor/rules/1"

_STYLES = {"high": "red", "medium": "yellow", "low": "dim"}
NOT_DETECTED = "This version describes the rule; it does not look for it in a log yet."


def to_json(chosen: Sequence[Rule], *, page: bool) -> bytes:
    """All rules as a list, or with ``page`` the first one as an object."""
    rows = [_plain(rule) for rule in chosen]
    body: dict[str, Any] = {"schema": SCHEMA} | (rows[0] if page else {"rules": rows})
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode()


def _plain(rule: Rule) -> dict[str, Any]:
    return asdict(rule) | {"thresholds": dict(rule.thresholds)}


def render_table(chosen: Sequence[Rule], screen: Screen) -> str:
    """One line for each rule, family by family."""
    return screen.text(_table(chosen))


def _table(chosen: Sequence[Rule]) -> Iterator[RenderableType]:
    for number, (family, words) in enumerate(FAMILIES.items()):
        members = [rule for rule in chosen if rule.family == family]
        if number:
            yield Text("")
        yield Text(words[:1].upper() + words[1:], style="bold cyan")
        table = grid("id", "*title", "severity", "fix", header=False)
        for rule in members:
            table.add_row(
                Text(rule.id, style="bold"),
                Text(rule.title, style="" if rule.detected else "dim"),
                Text(rule.severity, style=_STYLES[rule.severity]),
                (rule.safety if rule.edit != "none" else "no fix") if rule.detected else "later",
            )
        yield table
    yield Text("")
    legend = "severity; how safe the fix is (later: described, not looked for in a log yet)"
    yield Text(f"{legend}. radixadvisor rules ID shows a rule's page.", style="dim")


def _fix(rule: Rule) -> str:
    return "no fix" if rule.edit == "none" else f"{rule.safety} fix"


def render_page(rule: Rule, screen: Screen) -> str:
    """Everything there is to know about one rule."""
    return screen.text(_page(rule))


def _page(rule: Rule) -> Iterator[RenderableType]:
    yield Text(f"{rule.id} {rule.name}", style="bold")
    yield Text(rule.title)
    yield Text(f"severity {rule.severity}, {_fix(rule)}, changes {_CHANGES[rule.edit]}", style="dim")
    if not rule.detected:
        yield Text(NOT_DETECTED, style="yellow")
    prose = (
        ("What it does", rule.what, False),
        ("Why it costs", rule.why, False),
        ("Example", rule.example, True),
        ("Use instead", rule.use_instead, True),
        ("Fix safety", rule.fix_safety, False),
        ("Client patterns", "\n".join(rule.client_patterns), True),
        ("Thresholds", "\n".join(f"{name} = {value:g}" for name, value in rule.thresholds), True),
        ("References", "\n".join(rule.references), True),
    )
    for title, text, literal in prose:
        if not text:
            continue
        yield Text("")
        yield Text(title, style="bold cyan")
        shown = text if literal else " ".join(text.split())
        yield Padding(Text(shown, style="green" if title == "Use instead" else ""), (0, 0, 0, 2))
    yield Text("")
    yield Text(f"checked {rule.checked}", style="dim")


_CHANGES = {"text": "the text of prompts", "serving": "how they are served", "none": "nothing"}
