"""A verdict as plain data, and in the words that all reports use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from radixadvisor.report.numbers import percent
from radixadvisor.verdict import AFTER_FIXES, GO, INSUFFICIENT, NO_GO, Reason, Side, Verdict

__all__ = ["reason_line", "verdict_lines", "verdict_row", "verdict_sentence"]

_DECIMALS = 6
_AGAINST = {"none": "having no prefix cache", "vllm": "vllm's block cache"}
_WORDS = {
    GO: "Go: a radix cache pays against {against}.",
    AFTER_FIXES: "Go after the changes: a radix cache pays against {against} once the prompts are changed.",
    NO_GO: "No go: a radix cache does not pay against {against}.",
    INSUFFICIENT: "Not enough data to decide against {against}.",
}


def verdict_sentence(side: Side) -> str:
    """The decision in a sentence."""
    return _WORDS[side.decision].format(against=_AGAINST[side.baseline])


def verdict_lines(found: Verdict, most: int | None = None) -> Iterator[str]:
    """Reasons in order of weight (at most so many), then what would turn the decision, then the decision
    against vllm.
    """
    yield from map(reason_line, found.main.reasons[:most])
    yield from _outlook(found.main)
    if found.main.baseline != found.against_vllm.baseline:
        other = found.against_vllm
        because = f": {reason_line(other.reasons[0])}." if other.reasons else "."
        yield verdict_sentence(other).removesuffix(".") + because


def reason_line(reason: Reason) -> str:
    """Value against threshold."""
    value, limit = (_told(reason.unit, number) for number in (reason.value, reason.threshold))
    return f"{reason.text} {value} (threshold {limit})"


def _outlook(side: Side) -> Iterator[str]:
    if side.decision == INSUFFICIENT:
        yield f"What would help: {'; '.join(side.change)}."
        return
    held = "holds" if side.robust else "does not hold"
    turned = f" What would turn it: {'; '.join(side.change)}." if side.change else ""
    yield f"The decision {held} at both ends of the prediction's interval.{turned}"


def _told(unit: str, number: float) -> str:
    if unit == "share":
        return percent(number)
    return f"{number:.2f}" if unit == "ratio" else f"{number:,.0f}"


def verdict_row(found: Verdict | None) -> dict[str, Any] | None:
    """The verdict in report.json."""
    if found is None:
        return None
    return {
        "decision": found.main.decision,
        "baseline": found.main.baseline,
        **_side(found.main),
        "against_vllm": {"decision": found.against_vllm.decision, **_side(found.against_vllm)},
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "reasons": [
            {
                "text": reason.text,
                "value": round(reason.value, _DECIMALS),
                "threshold": reason.threshold,
                "holds": reason.holds,
                "unit": reason.unit,
            }
            for reason in side.reasons
        ],
        "survives_interval": side.robust,
        "would_change": list(side.change),
    }
