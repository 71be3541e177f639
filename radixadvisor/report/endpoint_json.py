"""``replay.json`` of a replay against a server: the schema of every replay, with its figures in ``endpoint``.

Seconds carry six decimals; what is null has its reason in ``not_evaluated``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from radixadvisor.endpoint.metrics import CacheCounters
from radixadvisor.endpoint.results import EndpointReplay, EndpointRow
from radixadvisor.predict.points import NO_POINTS, to_rows
from radixadvisor.replaying.results import Spread
from radixadvisor.report.replay_json import SCHEMA, encoded

__all__ = ["to_dict", "to_json"]

_DECIMALS = 6


def to_json(replay: EndpointReplay) -> bytes:
    """The bytes of replay.json."""
    return encoded(to_dict(replay))


def to_dict(replay: EndpointReplay) -> dict[str, Any]:
    """The replay as plain data, keys in the schema's order."""
    from radixadvisor import __version__

    return {
        "schema": SCHEMA,
        "version": __version__,
        "complete": replay.complete,
        "input": {
            "files": list(replay.files),
            "dialect": replay.dialect,
            "requests": replay.requests,
            "skipped": replay.skipped,
        },
        "setup": dict(replay.setup),
        "orders": [],
        "runs": [],
        "claims": [],
        "points": to_rows(NO_POINTS),
        "notes": list(replay.warnings),
        "endpoint": _endpoint(replay),
        "not_evaluated": dict(_reasons(replay)),
    }


def _endpoint(replay: EndpointReplay) -> dict[str, Any]:
    rate = replay.answered / replay.seconds if replay.seconds else None
    return {
        "url": replay.url,
        "engine": replay.engine,
        "page": replay.page,
        "slots": replay.slots,
        "model": replay.model,
        "tokenizer": replay.tokenizer,
        "requests": {
            "sent": sum(row.sent.attempts > 0 for row in replay.rows),
            "answered": replay.answered,
            "failed": sum(replay.failed.values()),
            "unfinished": replay.requests - len(replay.rows),
            "attempts": sum(row.sent.attempts for row in replay.rows),
        },
        "failed_attempts": dict(replay.retried),
        "failures": dict(replay.failed),
        "tokens": {
            "prompt": replay.prompt_tokens,
            "output": replay.output_tokens,
            "repeated_in_log": replay.logged,
            "predicted": replay.predicted,
            "reported": replay.reported,
            "counted": replay.counted,
        },
        "steps": [{"rule": step.name, "tokens": step.tokens} for step in replay.steps],
        "differences": [
            {"reason": one.reason, "requests": one.requests, "tokens": one.tokens}
            for one in replay.differences
        ],
        "counters": None
        if replay.before is None
        else {
            "hits": _counter(replay.before.hit_name, "hits", replay),
            "prompt": _counter(replay.before.prompt_name, "prompt", replay),
        },
        "ttft": {kind: _spread(spread) for kind, spread in replay.ttft.items()},
        "seconds": _number(replay.seconds),
        "requests_per_second": _number(rate),
        "late_seconds": _number(replay.late),
        "warnings": list(replay.warnings),
        "rows": [_row(row) for row in replay.rows],
    }


def _row(row: EndpointRow) -> dict[str, Any]:
    """One request; a field that its server did not tell is left out."""
    told = {
        "reported_prompt": row.sent.counts.prompt,
        "reported_cached": row.reported,
        "ttft": _number(row.sent.ttft),
        "failure": row.sent.failure,
    }
    return {
        "request_id": row.id,
        "prompt": row.prompt,
        "predicted_cached": row.predicted,
        **{name: value for name, value in told.items() if value is not None},
        "attempts": row.sent.attempts,
        **({"difference": row.reason} if row.reason else {}),
    }


def _counter(name: str, field: str, replay: EndpointReplay) -> dict[str, Any]:
    def value(counters: CacheCounters | None) -> int | None:
        return None if counters is None else round(getattr(counters, field))

    return {"name": name, "before": value(replay.before), "after": value(replay.after)}


def _reasons(replay: EndpointReplay) -> Iterator[tuple[str, str]]:
    if replay.setup["clients"] is None:
        yield "setup.clients", "requests came at the log's arrivals"
    for name, reason in replay.not_evaluated.items():
        yield f"endpoint.{name}", reason
    if replay.before is None:
        yield "endpoint.tokens.counted", replay.not_evaluated["counters"]
    elif replay.after is None:
        yield "endpoint.counters", "read before the requests only"
    for kind, spread in replay.ttft.items():
        if spread is None:
            what = (
                "no answer was streamed" if replay.ttft["all"] is None else f"no streamed answer is a {kind}"
            )
            yield f"endpoint.ttft.{kind}", what
    if not replay.seconds:
        yield "endpoint.requests_per_second", "no time passed"


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {
        "count": spread.count,
        **{name: _number(getattr(spread, name)) for name in ("p50", "p95", "p99")},
    }


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
