"""A check as JSON, schema ``radixadvisor/check/1``: ASCII, and the same bytes for the same input."""

from __future__ import annotations

import json
from typing import Any

from radixadvisor.records import Source
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.gates.view import CheckView, FoundRow, GateRow, summary

__all__ = ["SCHEMA", "to_json"]

SCHEMA = "radixadvisor/check/1"

_DECIMALS = 9
_LONGEST_NAME = 200


def to_json(view: CheckView) -> bytes:
    """Gates, the findings that break them, and who loses most."""
    from radixadvisor import __version__

    body = {
        "schema": SCHEMA,
        "version": __version__,
        "held": view.checked.exit_code == 0,
        "exit_code": view.checked.exit_code,
        "summary": summary(view),
        "input": {"files": list(view.files), "requests": view.requests},
        "gates": [_gate(row) for row in view.gates],
        "findings": [_finding(row) for row in view.findings if row.breaks],
        "by": None
        if view.by is None
        else {
            "name": view.by.by,
            "rows": [
                {
                    "name": clip(mask(row.name), _LONGEST_NAME),
                    "requests": row.requests,
                    "prompt_tokens": row.prompt_tokens,
                    "served_tokens": row.served_tokens,
                    "lost_tokens": row.lost_tokens,
                    "cause": row.cause or "",
                }
                for row in view.by.rows
            ],
        },
        "notes": list(view.notes),
    }
    return (json.dumps(body, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _gate(row: GateRow) -> dict[str, Any]:
    gate = row.gate
    return {
        "gate": row.name,
        "status": gate.status,
        "value": None if gate.value is None else round(gate.value, _DECIMALS),
        "threshold": gate.threshold,
        "must": "reach" if gate.floor else "not exceed",
        "unit": gate.unit,
        "reason": row.reason,
        "source": _source(row.source),
    }


def _finding(row: FoundRow) -> dict[str, Any]:
    item = row.finding
    return {
        "rule": row.rule,
        "title": row.title,
        "severity": item.severity,
        "profile": item.profile,
        "source": _source(row.source),
        "where": {
            "request_id": item.where.request_id,
            "path": item.where.path,
            "start": item.where.start,
            "end": item.where.end,
        },
        "requests": item.requests,
        "lost_tokens": item.lost_tokens,
        "application": item.application,
        "breaks": list(row.breaks),
    }


def _source(source: Source | None) -> dict[str, Any] | None:
    return None if source is None else {"file": source.file, "line": source.line}
