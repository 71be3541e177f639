"""Findings and prescriptions as every report shows them: masked, cut to size, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from radixadvisor.report.escape import clip, mask
from radixadvisor.report.numbers import count, percent, plural
from radixadvisor.report.order import order_sentence
from radixadvisor.results import Analysis, CheckedRule, Finding, Prescription

__all__ = ["AdviceView", "FindingRow", "FixRow", "advice_view", "checked_row", "finding_row", "fix_row"]

SERVING = "RA5"
"""What the ids of rules of serving begin with."""

_EXCERPT = 60
_TITLE = 200
_EVIDENCE = 200
_READ = 400


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding in words: ``place`` as request, path and characters; ``before`` and ``after`` the two values.

    ``serving``: the two values are not text that changed but what was and what would be.
    """

    rule: str
    title: str
    severity: str
    place: str
    before: str
    after: str
    requests: str
    lost: str
    profile: str
    serving: bool


@dataclass(frozen=True, slots=True)
class FixRow:
    """A prescription with the findings that it undoes. ``gain`` is marginal; ``cost`` says how prompt length
    changes, empty if it does not; ``setting`` what to change in a configuration, empty for the text.
    """

    id: str
    title: str
    safety: str
    gain: str
    rate: str
    alone: str
    cost: str
    interval: str
    profile: str
    setting: str
    findings: tuple[FindingRow, ...]


@dataclass(frozen=True, slots=True)
class AdviceView:
    """What to change, in order; what costs and has no fix; what was tried in vain. ``summary`` is one
    sentence; empty where nothing was diagnosed.
    """

    summary: str
    fixes: tuple[FixRow, ...]
    unfixed: tuple[FindingRow, ...]
    checked: tuple[str, ...]


def advice_view(analysis: Analysis) -> AdviceView:
    """Arrange the advice of an analysis."""
    findings = analysis.findings
    return AdviceView(
        summary=_summary(analysis),
        fixes=tuple(
            _fix(item, tuple(_finding(finding) for finding in findings if finding.fix == item.id))
            for item in analysis.prescriptions
        ),
        unfixed=tuple(_finding(finding) for finding in findings if finding.fix is None),
        checked=tuple(sorted({item.rule for item in analysis.checked})),
    )


def _summary(analysis: Analysis) -> str:
    text = [item for item in analysis.prescriptions if item.edit == "text"]
    parts = []
    if text:
        saved = sum(item.marginal_tokens for item in text)
        share = percent(saved / analysis.totals.prompt_tokens)
        parts.append(
            f"{plural(len(text), 'change')} would save {count(saved)} computed tokens ({share} of the prompt "
            f"tokens); the hit rate would be {percent(text[-1].rate_after)}."
        )
    elif "findings" not in analysis.not_evaluated:
        parts.append("No fault was found in how the prompts are built.")
    sentences = [*parts, *_serving_summary(analysis), order_sentence(analysis)]
    return " ".join(sentence for sentence in sentences if sentence)


def _serving_summary(analysis: Analysis) -> Iterator[str]:
    """One sentence for each profile whose serving can be changed."""
    serving = [item for item in analysis.prescriptions if item.edit == "serving"]
    for profile in dict.fromkeys(item.profile for item in serving):
        own = [item for item in serving if item.profile == profile]
        saved = sum(item.marginal_tokens for item in own)
        share = percent(saved / analysis.totals.prompt_tokens)
        yield (
            f"In serving, {plural(len(own), 'change')} would save {count(saved)} ({share}) under {profile}; "
            f"its hit rate would be {percent(own[-1].rate_after)}."
        )


def _fix(item: Prescription, findings: tuple[FindingRow, ...]) -> FixRow:
    longer = item.prompt_tokens
    cost = f"prompts grow by {count(longer)} tokens" if longer > 0 else ""
    if longer < 0:
        cost = f"prompts shrink by {count(-longer)} tokens"
    low, high = item.marginal_interval
    return FixRow(
        id=item.id,
        title=clip(mask(item.title), _TITLE),
        safety=item.safety,
        gain=count(item.marginal_tokens),
        rate=percent(item.rate_after),
        alone=count(item.alone_tokens),
        cost=cost,
        interval=f"{count(low)} to {count(high)}",
        profile=item.profile,
        setting=clip(mask(item.setting), _TITLE),
        findings=findings,
    )


def _finding(item: Finding) -> FindingRow:
    where = item.where
    serving = item.rule.startswith(SERVING)
    return FindingRow(
        rule=item.rule,
        title=clip(mask(item.title), _TITLE),
        severity=item.severity,
        place=f"{clip(where.request_id, 40)} {where.path}"
        + ("" if serving else f", characters {where.start}-{where.end}"),
        before=_excerpt(item.before, _EVIDENCE if serving else _EXCERPT),
        after=_excerpt(item.after, _EVIDENCE if serving else _EXCERPT),
        requests=plural(item.requests, "request"),
        lost=count(item.lost_tokens),
        profile=item.profile,
        serving=serving,
    )


def _excerpt(text: str, length: int) -> str:
    """The beginning of a text, masked with enough behind it to know a secret that the cut divides."""
    return clip(mask(text[:_READ]), length)


def finding_row(item: Finding) -> dict[str, Any]:
    """A finding in report.json."""
    where = item.where
    rates = item.rates
    told = {} if rates is None else {"before": round(rates[0], 6), "after": round(rates[1], 6)}
    return {
        "rule": item.rule,
        "kind": item.kind,
        "profile": item.profile,
        "title": clip(mask(item.title), _TITLE),
        "severity": item.severity,
        "where": {
            "request_id": where.request_id,
            "path": where.path,
            "start": where.start,
            "end": where.end,
        },
        "evidence": {
            "before": _excerpt(item.before, _EVIDENCE),
            "after": _excerpt(item.after, _EVIDENCE),
        },
        "requests": item.requests,
        "lost_tokens": item.lost_tokens,
        "fix": item.fix or "",
        "application": item.application,
        **({"rates": told} if told else {}),
    }


def checked_row(item: CheckedRule) -> dict[str, Any]:
    """A rule that was tried without gain, in report.json."""
    return {
        "rule": item.rule,
        "title": clip(mask(item.title), _TITLE),
        "gain_tokens": item.gain_tokens,
        "alone_tokens": item.alone_tokens,
    }


def fix_row(item: Prescription) -> dict[str, Any]:
    """A prescription in report.json."""
    return {
        "id": item.id,
        "rules": list(item.rules),
        "title": clip(mask(item.title), _TITLE),
        "edit": item.edit,
        "safety": item.safety,
        "profile": item.profile,
        "setting": clip(mask(item.setting), _TITLE),
        "alone_tokens": item.alone_tokens,
        "marginal_tokens": item.marginal_tokens,
        "marginal_interval": list(item.marginal_interval),
        "rate_after": round(item.rate_after, 6),
        "hit_tokens": item.hit_tokens,
        "prompt_tokens": item.prompt_tokens,
        "applications": [clip(mask(name), _TITLE) for name in item.applications],
    }
