"""A check as SARIF 2.1.0: findings at their requests, with the rules' own pages as help."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from radixadvisor.analysis.gate.results import FAIL, SKIP
from radixadvisor.diagnose.rules import Rule, rules
from radixadvisor.records import Source
from radixadvisor.report.escape import prose, visible
from radixadvisor.report.gates.view import CheckView, FoundRow, GateRow, summary

__all__ = ["SCHEMA", "to_sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_STDIN = "-"
_GATES = {
    "gate/min-hit-rate": "The hit rate is below its threshold",
    "gate/max-lost": "More is lost than is allowed",
    "gate/max-drop": "The hit rate fell behind an earlier report",
    "gate/no-new-findings": "There are findings that an earlier report does not have",
    "gate/lock": "Prompts do not begin as the lock says",
}
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}


def to_sarif(view: CheckView) -> bytes:
    """One run. What breaks a gate is an error, other findings are warnings and notes; gates that held are no
    results, and gates that could not be evaluated are notifications of an unsuccessful execution.
    """
    from radixadvisor import __version__

    known = rules()
    used = sorted({row.rule for row in view.findings} & known.keys())
    failed = [row for row in view.gates if row.status == FAIL]
    gates = sorted({_gate_id(row) for row in failed})
    descriptors = [_rule(known[name]) for name in used] + [_gate_rule(name) for name in gates]
    places = {descriptor["id"]: number for number, descriptor in enumerate(descriptors)}
    results = [_gate(row, view, places) for row in failed]
    results += [_finding(row, places) for row in view.findings if row.rule in places]
    run = {
        "tool": {
            "driver": {
                "name": "radixadvisor",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": descriptors,
            }
        },
        "invocations": [_invocation(view)],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    body = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return (json.dumps(body, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _rule(rule: Rule) -> dict[str, Any]:
    parts = [
        ("What it does", rule.what),
        ("Why it costs", rule.why),
        ("Example", rule.example),
        ("Use instead", rule.use_instead),
        ("Fix safety", rule.fix_safety),
        ("References", "\n".join(rule.references)),
    ]
    told = [(title, text) for title, text in parts if text]
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": " ".join(rule.what.split())},
        "help": {
            "text": "\n\n".join(f"{title}\n{text}" for title, text in told),
            "markdown": "\n\n".join(_markdown(title, text) for title, text in told),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["prefix-cache", rule.family], "precision": "high"},
    }


def _markdown(title: str, text: str) -> str:
    if title in ("Example", "Use instead"):
        return f"**{title}**\n\n```\n{text}\n```"
    if title == "References":
        return f"**{title}**\n\n" + "\n".join(f"- <{link}>" for link in text.split())
    return f"**{title}**\n\n{prose(' '.join(text.split()))}"


def _gate_rule(name: str) -> dict[str, Any]:
    text = f"{_GATES[name]}."
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.replace("/", "-").split("-")),
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {
            "text": "A gate of radixadvisor check: its value stands in the message, the threshold beside."
        },
        "defaultConfiguration": {"level": "error"},
    }


def _gate_id(row: GateRow) -> str:
    return f"gate/{row.gate.name.split()[0]}"


def _gate(row: GateRow, view: CheckView, places: dict[str, int]) -> dict[str, Any]:
    name = _gate_id(row)
    source = row.source or Source(view.files[0], 1)
    return {
        "ruleId": name,
        "ruleIndex": places[name],
        "level": "error",
        "message": {"text": _message(f"{row.name}: {row.told}. {row.reason}.")},
        "locations": [_location(source, None)],
        "partialFingerprints": {"radixadvisor/v1": _fingerprint([row.gate.name])},
    }


def _finding(row: FoundRow, places: dict[str, int]) -> dict[str, Any]:
    item = row.finding
    cost = f"{item.lost_tokens:,} tokens computed because of it in {item.requests:,} requests"
    broken = f" It breaks {', '.join(row.breaks)}." if row.breaks else ""
    found: dict[str, Any] = {
        "ruleId": row.rule,
        "ruleIndex": places[row.rule],
        "level": "error" if row.breaks else _LEVELS.get(item.severity, "note"),
        "message": {"text": _message(f"{row.title}: {cost} under {item.profile}.{broken}")},
        "partialFingerprints": {
            "radixadvisor/v1": _fingerprint([row.rule, item.application, item.where.path])
        },
        "properties": {
            "requestId": _message(item.where.request_id),
            "lostTokens": item.lost_tokens,
            "start": item.where.start,
            "end": item.where.end,
        },
    }
    if row.source is not None:
        found["locations"] = [_location(row.source, item.where.path)]
    return found


def _location(source: Source, path: str | None) -> dict[str, Any]:
    """A line of a file; a log from standard input has none."""
    found: dict[str, Any] = {}
    if source.file != _STDIN:
        line = max(source.line, 1)
        found["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(source.file)},
            "region": {"startLine": line, "endLine": line},
        }
    if path is not None:
        found["logicalLocations"] = [{"fullyQualifiedName": _message(path), "kind": "member"}]
    if not found:
        found["message"] = {"text": "standard input"}
    return found


def _uri(file: str) -> str:
    path = PurePosixPath(file.replace("\\", "/")) if "\\" in file and "/" not in file else PurePosixPath(file)
    encoded = quote(str(path).encode(errors="backslashreplace"), safe="/")
    return f"file://{encoded}" if path.is_absolute() else encoded


def _message(text: str) -> str:
    """Plain text of a message: links and placeholders of SARIF are no part of it."""
    text = visible(text)
    for character in "[]{}":
        text = text.replace(character, {"[": "\\[", "]": "\\]", "{": "{{", "}": "}}"}[character])
    return text


def _fingerprint(parts: Iterable[str]) -> str:
    from xxhash import xxh3_64_hexdigest

    return xxh3_64_hexdigest("\x1f".join(parts).encode(errors="replace"))


def _invocation(view: CheckView) -> dict[str, Any]:
    skipped = [row for row in view.gates if row.status == SKIP]
    return {
        "executionSuccessful": view.checked.exit_code != 3,
        "exitCode": view.checked.exit_code,
        "exitCodeDescription": summary(view),
        "toolExecutionNotifications": [
            {
                "level": "error" if view.checked.exit_code == 3 else "warning",
                "message": {"text": _message(f"{row.name} could not be evaluated: {row.reason}.")},
            }
            for row in skipped
        ],
    }
