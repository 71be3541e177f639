"""The order of sections in every report: one sentence, and the rows of report.json."""

from __future__ import annotations

from typing import Any

from radixadvisor.report.escape import clip, mask
from radixadvisor.report.numbers import percent
from radixadvisor.results import Analysis
from radixadvisor.results_order import BatchRow, CanonicalRow, OrderResult, SectionOrder

__all__ = ["order_row", "order_sentence"]

_LONGEST_NAME = 200
_MOST_ROWS = 100


def order_sentence(analysis: Analysis) -> str:
    """Both rates, and the best possible one; empty where no order was searched."""
    found = analysis.order
    if found is None:
        return ""
    text = [item.id for item in analysis.prescriptions if item.edit == "text"]
    given, possible = percent(found.rate_given), percent(found.rate_possible)
    if not text:
        return f"As given, {given} of the prompt tokens hit; the best possible order reaches {possible}."
    named = text[0] if len(text) == 1 else f"{text[0]} to {text[-1]}"
    return (
        f"As given, {given} of the prompt tokens hit; in the prescribed order ({named}), measured again, "
        f"{percent(found.rate_ordered)}; the best possible order reaches {possible}."
    )


def order_row(found: OrderResult | None) -> dict[str, Any] | None:
    """The part ``order`` of report.json."""
    if found is None:
        return None
    return {
        "rate_given": round(found.rate_given, 6),
        "rate_ordered": round(found.rate_ordered, 6),
        "rate_possible": round(found.rate_possible, 6),
        "sections": [_section(row) for row in found.sections[:_MOST_ROWS]],
        "lists": [_list(row) for row in found.lists[:_MOST_ROWS]],
    }


def _section(row: SectionOrder) -> dict[str, Any]:
    return {
        "application": _name(row.application),
        "zone": row.zone,
        "requests": row.requests,
        "order": [_name(name) for name in row.order],
        "exact": row.exact,
        "greedy_ratio": round(row.greedy_ratio, 6),
        "share_written": round(row.share_written, 6),
        "share_best": round(row.share_best, 6),
        **({} if row.batch is None else {"rows": _batch(row.batch)}),
    }


def _batch(row: BatchRow) -> dict[str, Any]:
    return {"single": round(row.single, 6), "grouped": round(row.grouped, 6), "per_row": row.per_row}


def _list(row: CanonicalRow) -> dict[str, Any]:
    shares = {way: round(share, 6) for way, share in row.shares.items()}
    return {"what": row.what, "lists": row.lists, "way": row.way, "shares": shares}


def _name(text: str) -> str:
    return clip(mask(text), _LONGEST_NAME)
