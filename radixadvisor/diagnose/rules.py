"""The rules as documents: what each looks for, why it costs, and what to use instead.

One file for each in ``rules/diagnoses``; its thresholds are data beside its text.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.paths import data_dir

__all__ = ["EDITS", "FAMILIES", "SAFETIES", "SEVERITIES", "Rule", "read_rule", "rule", "rules"]

FAMILIES = {
    "volatile": "values that vary in the prefix",
    "tools": "tool definitions",
    "order": "the order of blocks",
    "history": "conversation history",
    "serving": "serving, not text",
}
SEVERITIES = ("high", "medium", "low")
SAFETIES = ("safe", "review", "never", "none")
EDITS = ("text", "serving", "none")


@dataclass(frozen=True, slots=True)
class Rule:
    """One root cause of misses.

    ``edit`` is what a fix changes: the ``text`` of prompts, the ``serving`` of them, or ``none``; ``safety``
    is ``none`` where there is no fix. ``detected`` is False for a rule that is described but not looked for
    yet. ``client_patterns`` are strings to look for in the code that builds prompts. ``thresholds`` are
    sorted (name, value) pairs.
    """

    id: str
    name: str
    family: str
    title: str
    severity: str
    safety: str
    edit: str
    detected: bool
    what: str
    why: str
    example: str
    use_instead: str
    fix_safety: str
    client_patterns: tuple[str, ...]
    references: tuple[str, ...]
    checked: str
    thresholds: tuple[tuple[str, float], ...]

    def threshold(self, name: str) -> float:
        """A threshold by name.

        Raises:
            KeyError: the rule has none of that name.
        """
        return dict(self.thresholds)[name]


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """Every rule by id, in order.

    Raises:
        UsageError: a file is not a rule; the sentence names file and field.
    """
    found = [read_rule(path) for path in sorted((data_dir("rules") / "diagnoses").glob("RA*.toml"))]
    return {entry.id: entry for entry in found}


def rule(name: str) -> Rule:
    """A rule by its id or its name, without regard to case.

    Raises:
        UnknownName: there is no such rule.
    """
    known = rules()
    wanted = name.strip().lower()
    for entry in known.values():
        if wanted in (entry.id.lower(), entry.name):
            return entry
    raise UnknownName("rule", name, known)


def read_rule(path: Path) -> Rule:
    """The rule in a file.

    Raises:
        UsageError: a field is missing, unknown, or holds what it cannot.
    """
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        thresholds = table.pop("thresholds", {})
        entry = Rule(
            **{key: _field(value) for key, value in table.items()},
            thresholds=tuple((name, float(value)) for name, value in sorted(thresholds.items())),
        )
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise UsageError(f"{path.name} is not a rule: {error}.") from error
    wrong = [name for name, fits in _checks(entry, path.stem) if not fits]
    if wrong:
        raise UsageError(f"{path.name} is not a rule: {', '.join(wrong)} cannot be as given.")
    return entry


def _field(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str):
        return value.strip("\n")
    return value if isinstance(value, bool) else value.isoformat()


def _checks(entry: Rule, stem: str) -> list[tuple[str, bool]]:
    texts = ("name", "title", "what", "why", "example", "use_instead", "fix_safety")
    return [
        ("id", entry.id == stem),
        ("family", entry.family in FAMILIES),
        ("severity", entry.severity in SEVERITIES),
        ("safety", entry.safety in SAFETIES),
        ("edit", entry.edit in EDITS),
        ("safety and edit", (entry.safety == "none") == (entry.edit == "none")),
        ("detected", isinstance(entry.detected, bool)),
        ("client_patterns", bool(entry.client_patterns) and all(entry.client_patterns)),
        ("references", all(link.startswith("https://") for link in entry.references)),
        *((name, isinstance(value := getattr(entry, name), str) and bool(value.strip())) for name in texts),
    ]
