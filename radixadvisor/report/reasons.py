"""Why fields are empty, and what a user can do about it."""

from __future__ import annotations

from collections.abc import Sequence

from radixadvisor.results import Analysis

__all__ = ["grouped_reasons", "not_evaluated", "remedy"]

_NOT_ASKED = "not asked for: --by app, tenant, model or session"

_REMEDIES = (
    ("input.span_seconds", "log an arrival time with every request"),
    ("hits.within_session", "log a session id with every request"),
    ("calibration", "log usage.prompt_tokens_details.cached_tokens as the server reports it"),
)


def not_evaluated(analysis: Analysis) -> dict[str, str]:
    """Reasons by dotted field name: the analysis' own, then those that follow from what is empty."""
    reasons = dict(analysis.not_evaluated)
    if analysis.prediction is None:
        reasons.setdefault("prediction", "nothing was predicted")
    if analysis.verdict is None:
        reasons.setdefault("verdict", reasons.get("prediction", "nothing was decided"))
    if "findings" in reasons:
        for name in ("checked", "prescriptions"):
            reasons.setdefault(name, reasons["findings"])
    if analysis.order is None:
        reasons.setdefault("order", reasons.get("findings", "no order was searched"))
    if not analysis.tokenizers:
        reasons.setdefault("tokenizer", "the log holds no text: nothing was tokenized")
    if analysis.settings is None:
        reasons.setdefault("settings", reasons.get("findings", "nothing was simulated"))
    else:
        if analysis.settings.loading_pays is None:
            reasons.setdefault("settings.loading_pays", "no card is named, or it cannot load from the host")
        if analysis.settings.enough is None:
            reasons.setdefault("settings.enough_tokens", "sizes of the pool were not compared")
    if analysis.noise is None:
        reasons.setdefault("noise", "nothing is known of sessions")
    if analysis.by is None:
        reasons["by"] = _NOT_ASKED
    if analysis.reported_cached_tokens is None:
        reasons.setdefault("calibration", "the log does not hold the cached tokens that its server reported")
        return reasons
    if analysis.predicted_cached_tokens is None:
        reasons.setdefault("calibration.predicted_cached_tokens", "the server's own cache is not known")
    if analysis.calibration_error is None:
        for name in ("calibration.error", "calibration.usable"):
            reasons.setdefault(name, "the two counts are not of the same requests")
    return reasons


def remedy(fields: Sequence[str]) -> str:
    """What a user can do so that fields get evaluated; empty where the reason already says all there is."""
    found = [
        advice for name, advice in _REMEDIES if any(f == name or f.startswith(f"{name}.") for f in fields)
    ]
    return "; ".join(dict.fromkeys(found))


def grouped_reasons(reasons: dict[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason == _NOT_ASKED:
            continue
        grouped.setdefault(reason, []).append(name)
    return tuple((reason, tuple(names)) for reason, names in grouped.items())
