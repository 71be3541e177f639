"""``replay.json``: every figure of a replay under a fixed name.

The schema ``radixadvisor/replay/1`` only ever gains fields. Seconds and rates carry six decimals; what is
null has its reason in ``not_evaluated``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from radixadvisor.predict.points import thinned, to_rows
from radixadvisor.replaying.measured import HIT_SHARE
from radixadvisor.replaying.results import Agreement, Replay, RunResult, Spread
from radixadvisor.report.escape import mask
from radixadvisor.report.replay_words import predicted_seconds, speedups

__all__ = ["REPLAY_FILE", "SCHEMA", "encoded", "to_dict", "to_json"]

SCHEMA = "radixadvisor/replay/1"
REPLAY_FILE = "replay.json"

_DECIMALS = 6
_MOST_DIFFERENCES = 20


def to_json(replay: Replay) -> bytes:
    """The bytes of replay.json."""
    return encoded(to_dict(replay))


def encoded(content: dict[str, Any]) -> bytes:
    """A result as the bytes of a file: ASCII, keys in the order given, a newline at the end."""
    return (json.dumps(content, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def to_dict(replay: Replay) -> dict[str, Any]:
    """The replay as plain data, keys in the schema's order."""
    from radixadvisor import __version__

    reasons = {**replay.not_evaluated, "endpoint": "the log was replayed on the bundled engine"}
    if replay.setup["device_name"] is None:
        reasons["setup.device_name"] = "torch names CUDA devices only"
    if replay.setup["clients"] is None:
        reasons["setup.clients"] = "requests came at the log's arrivals"
    for number, run in enumerate(replay.runs):
        reasons |= {f"runs[{number}].{field}": reason for field, reason in _reasons(run)}
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
        "orders": [
            {
                "name": order.name,
                "prompt_tokens": order.prompt_tokens,
                "distinct_tokens": order.distinct_tokens,
                "edits": [mask(edit) for edit in order.edits],
            }
            for order in replay.orders
        ],
        "runs": [_run(replay, run) for run in replay.runs],
        "claims": [
            {
                "name": claim.name,
                "text": claim.text,
                "runs": list(claim.runs),
                "quantity": claim.quantity,
                "predicted": _number(claim.predicted),
                "measured": _number(claim.measured),
                "threshold": claim.threshold,
                "outcome": claim.outcome,
                "reason": claim.reason,
            }
            for claim in replay.claims
        ],
        "points": to_rows(thinned([run.points for run in replay.runs])),
        "notes": list(replay.notes),
        "endpoint": None,
        "not_evaluated": reasons,
    }


def _run(replay: Replay, run: RunResult) -> dict[str, Any]:
    seconds, flops = speedups(replay, run)
    return {
        "order": run.order,
        "policy": run.policy,
        "cache": run.cache,
        "complete": run.complete,
        "requests": run.requests,
        "refused": {"count": sum(run.refused.values()), "reasons": dict(run.refused)},
        "truncated": run.truncated,
        "tokens": {
            "prompt": run.prompt_tokens,
            "hit": run.hit_tokens,
            "host": run.host_tokens,
            "computed": run.computed_tokens,
            "recomputed": run.recomputed_tokens,
            "output": run.output_tokens,
        },
        "rate": _number(run.rate),
        "hits": {
            "predicted": run.predicted_tokens,
            "recorded": run.recorded_tokens,
            "measured": run.hit_tokens,
            "deviating_requests": run.deviating,
        },
        "speedup": {"prefill_seconds": _number(seconds), "prefill_flops": _number(flops)},
        "seconds": {
            "total": _number(run.seconds),
            "prefill": _number(run.prefill_seconds),
            "predicted_prefill": _number(predicted_seconds(replay, run)),
            "repeats": [
                {name: _number(getattr(times, name)) for name in ("seconds", "prefill", "decode")}
                for times in run.times
            ],
        },
        "flops": run.flops,
        "ttft": {kind: _spread(spread) for kind, spread in run.ttft.items()},
        "inter_token": _spread(run.latency),
        "throughput": {
            "requests_per_second": _rate(run.requests, run),
            "prompt_tokens_per_second": _rate(run.prompt_tokens, run),
            "output_tokens_per_second": _rate(run.output_tokens, run),
        },
        "pool": {
            "capacity": run.pool.capacity,
            "peak_used": run.pool.used,
            "peak_running": run.pool.running,
            "peak_evictable": run.pool.evictable,
            "evicted": run.pool.evicted,
            "loaded_from_host": run.pool.loaded,
            "retractions": run.pool.retractions,
        },
        "agreement": None if run.agreement is None else _agreement(replay, run.agreement),
    }


def _agreement(replay: Replay, found: Agreement) -> dict[str, Any]:
    return {
        "compared": found.compared,
        "differing": len(found.differences),
        "failures": len(found.failures),
        "tolerance": found.tolerance,
        "differences": [
            {
                "request_id": replay.ids[one.rid],
                "position": one.position,
                "without_cache": one.without_cache,
                "with_cache": one.with_cache,
                "gap": _number(one.gap) if isfinite(one.gap) else None,
            }
            for one in found.differences[:_MOST_DIFFERENCES]
        ],
    }


def _reasons(run: RunResult) -> Iterator[tuple[str, str]]:
    """Why fields of a run are null."""
    share = f"{HIT_SHARE:.0%} of its prompt"
    for kind, reason in (
        ("hit", f"no request had {share} or more from the cache"),
        ("miss", f"every request had {share} or more from the cache"),
        ("all", "no request ended"),
    ):
        if run.ttft[kind] is None:
            yield f"ttft.{kind}", reason if run.requests else "no request ended"
    if run.latency is None:
        yield "inter_token", "no request that ended has two output tokens"
    if not run.seconds:
        yield "throughput", "no time passed"
    if not run.cache:
        yield "speedup", "this run is what the others are compared with"
        yield "seconds.predicted_prefill", "this run is what the others are compared with"
        yield "agreement", "this run is what the others are compared with"
    elif not run.complete:
        yield "speedup", "the run was stopped"
        yield "seconds.predicted_prefill", "the run was stopped"
    elif not run.flops:
        yield "speedup", "no request was served"
        yield "seconds.predicted_prefill", "no request was served"
    if run.agreement is not None and not all(isfinite(one.gap) for one in run.agreement.differences):
        yield "agreement.differences.gap", "the model's logits are no numbers there"
    if run.recorded_tokens is None:
        yield "hits.recorded", run.unrecorded
        yield "hits.deviating_requests", run.unrecorded


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {
        "count": spread.count,
        **{name: _number(getattr(spread, name)) for name in ("p50", "p95", "p99")},
    }


def _rate(count: int, run: RunResult) -> float | None:
    """Per second of the repeat with the median prefill."""
    return _number(count / run.seconds) if run.seconds else None


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
