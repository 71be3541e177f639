"""``report.json``: every figure of an Analysis under a fixed name, as bytes that depend on the input alone.

The schema ``radixadvisor/report/1`` only ever gains fields. What was not evaluated is null, or an empty list,
with its reason in ``not_evaluated`` under the field's dotted name. Rates, GiB, MiB and seconds carry six
decimals; ledger shares carry twelve, so that they still add up to 1 within 1e-9. The text is ASCII: nothing
from a prompt can act on a terminal that shows it.
"""

from __future__ import annotations

import json
from typing import Any

from radixadvisor.report.advice import checked_row, finding_row, fix_row
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.order import order_row
from radixadvisor.report.prediction import prediction_row
from radixadvisor.report.reasons import not_evaluated
from radixadvisor.report.settings import settings_row
from radixadvisor.report.verdict import verdict_row
from radixadvisor.results import (
    HIT_GATE,
    Analysis,
    ApplicationRow,
    Branch,
    Breakdown,
    CapacityRow,
    HitCount,
    HitRates,
    Hits,
    InputSummary,
    Noise,
    TokenizerInfo,
)

__all__ = ["SCHEMA", "to_dict", "to_json"]

SCHEMA = "radixadvisor/report/1"

_DECIMALS = 6
_SHARE_DECIMALS = 12
_ERROR_DECIMALS = 9
_MOST_GROUPS = 100
_LONGEST_NAME = 200


def to_json(analysis: Analysis) -> bytes:
    """The bytes of report.json: two-space indentation, keys in the schema's order, a newline at the end."""
    return (json.dumps(to_dict(analysis), indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """The report as plain data, keys in the schema's order."""
    from radixadvisor import __version__

    return {
        "schema": SCHEMA,
        "version": __version__,
        "input": _input(analysis.input),
        "tokenizer": _tokenizer(max(analysis.tokenizers, key=lambda used: used.requests))
        if analysis.tokenizers
        else None,
        "tokenizers": [_tokenizer(used) for used in analysis.tokenizers],
        "totals": {
            "prompt_tokens": analysis.totals.prompt_tokens,
            "output_tokens": analysis.totals.output_tokens,
            "unique_tokens": analysis.totals.unique_tokens,
        },
        "hits": _hits(analysis.hits),
        "branches": [_branch(branch) for branch in analysis.branches],
        "bounds": {
            "current": analysis.bounds.current,
            "best_order_found": analysis.bounds.best_order_found,
            "dp_optimum": analysis.bounds.dp_optimum,
            "every_segment_seen_before": analysis.bounds.every_segment_seen_before,
            "optimal_eviction": analysis.bounds.optimal_eviction,
        },
        "capacity": [_capacity(row) for row in analysis.capacity],
        "ledger": [
            {"bucket": row.bucket, "tokens": row.tokens, "share": _number(row.share, _SHARE_DECIMALS)}
            for row in analysis.ledger
        ],
        "findings": [finding_row(item) for item in analysis.findings],
        "checked": [checked_row(item) for item in analysis.checked],
        "prescriptions": [fix_row(item) for item in analysis.prescriptions],
        "replica_range": [
            {"replicas": row.replicas, "rate": _number(row.rate)} for row in analysis.replica_range
        ],
        "by": None if analysis.by is None else _breakdown(analysis.by),
        "applications": [_application(row) for row in analysis.applications[:_MOST_GROUPS]],
        "noise": _noise(analysis.noise),
        "order": order_row(analysis.order),
        "prediction": prediction_row(analysis.prediction),
        "calibration": _calibration(analysis),
        "verdict": verdict_row(analysis.verdict),
        "settings": settings_row(analysis.settings),
        "model": analysis.model,
        "kv_bytes_per_token": analysis.kv_bytes_per_token,
        "assumptions": [{"text": item.text, "effect": item.effect} for item in analysis.assumptions],
        "not_evaluated": not_evaluated(analysis),
    }


def _number(value: float | None, decimals: int = _DECIMALS) -> float | None:
    return None if value is None else round(value, decimals)


def _input(source: InputSummary) -> dict[str, Any]:
    skipped = source.skipped
    return {
        "files": list(source.files),
        "dialect": source.dialect,
        "evidence": source.evidence,
        "requests": source.requests,
        "skipped": {
            "count": skipped.count,
            "reasons": dict(sorted(skipped.reasons.items())),
            "examples": {reason: list(places) for reason, places in sorted(skipped.examples.items())},
        },
        "span_seconds": _number(source.span_seconds),
        "unit": source.unit,
        "sessions": source.sessions,
        "exact_repeats": source.exact_repeats,
    }


def _tokenizer(used: TokenizerInfo) -> dict[str, Any]:
    return {
        "name": used.name,
        "template": used.template,
        "template_hash": used.template_hash,
        "exact": used.exact,
        "requests": used.requests,
        "models": list(used.models),
    }


def _hit(served: HitCount) -> dict[str, Any]:
    return {"tokens": served.tokens, "rate": _number(served.rate)}


def _rates(rates: HitRates) -> dict[str, Any]:
    return {
        "token_weighted": _number(rates.token_weighted),
        "mean_per_request": _number(rates.mean_per_request),
        "share_of_requests_hit": _number(rates.share_of_requests_hit),
    }


def _hits(hits: Hits) -> dict[str, Any]:
    caches = {
        name: _hit(served)
        | ({"rates": _rates(hits.profile_rates[name])} if name in hits.profile_rates else {})
        for name, served in {"unlimited": hits.unlimited, **hits.profiles}.items()
    }
    return {
        **caches,
        "headline": hits.headline,
        "rates": _rates(hits.rates),
        "across_sessions": _hit(hits.across_sessions),
        "within_session": None if hits.within_session is None else _hit(hits.within_session),
    }


def _branch(branch: Branch) -> dict[str, Any]:
    return {
        "label": mask(branch.label),
        "excerpt": mask(branch.excerpt),
        "depth": branch.depth,
        "tokens": branch.tokens,
        "requests": branch.requests,
        "saved": branch.saved,
        "pin_mib": _number(branch.pin_mib),
        "parent": branch.parent,
    }


def _capacity(row: CapacityRow) -> dict[str, Any]:
    return {
        "tokens": row.tokens,
        "gib": _number(row.gib),
        "lru_rate": _number(row.lru_rate),
        "optimal_rate": _number(row.optimal_rate),
        "steady_lru_rate": _number(row.steady_lru_rate),
    }


def _breakdown(found: Breakdown) -> dict[str, Any]:
    return {
        "name": found.by,
        "groups": len(found.rows),
        "rows": [
            {
                "name": clip(mask(row.name), _LONGEST_NAME),
                "requests": row.requests,
                "prompt_tokens": row.prompt_tokens,
                "served_tokens": row.served_tokens,
                "lost_tokens": row.lost_tokens,
                "cause": row.cause or "",
            }
            for row in found.rows[:_MOST_GROUPS]
        ],
    }


def _application(row: ApplicationRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": clip(mask(row.name), _LONGEST_NAME),
        "models": [clip(mask(model), _LONGEST_NAME) for model in row.models],
        "requests": row.requests,
        "prompt_tokens": row.prompt_tokens,
        "served_tokens": row.served_tokens,
    }


def _noise(found: Noise | None) -> dict[str, Any] | None:
    """Standard errors over sessions."""
    if found is None:
        return None
    return {
        "sessions": found.sessions,
        "rates": {name: _number(error, _ERROR_DECIMALS) for name, error in found.rates.items()},
        "ledger": {name: _number(error, _ERROR_DECIMALS) for name, error in found.ledger.items()},
        "computed_per_request": _number(found.computed_per_request),
        "prompt_per_request": _number(found.prompt_per_request),
    }


def _calibration(analysis: Analysis) -> dict[str, Any] | None:
    reported, predicted = analysis.reported_cached_tokens, analysis.predicted_cached_tokens
    if reported is None:
        return None
    return {
        "reported_cached_tokens": reported,
        "predicted_cached_tokens": predicted,
        "error": _number(analysis.calibration_error),
        "usable": None if analysis.calibration_error is None else abs(analysis.calibration_error) <= HIT_GATE,
    }
