"""One view of one Analysis: what every report shows, in which words and in which order.

Reporters lay a View out; they choose no figure and write no sentence of their own about one. Strings that
come from the log are masked here and still have to be escaped for the format that shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from radixadvisor.report.advice import AdviceView, advice_view
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.numbers import count, duration, percent, plural
from radixadvisor.report.reasons import grouped_reasons, not_evaluated
from radixadvisor.results import Analysis, Branch, CapacityRow, HitCount, HitRates, LedgerRow, LossRow

__all__ = [
    "BOUNDS",
    "BUCKETS",
    "BranchRow",
    "HitRow",
    "SkipRow",
    "View",
    "quiet_line",
    "view",
]

BUCKETS = {
    "served": "served from the cache",
    "capacity": "evicted from a full pool",
    "ttl": "expired before its reuse",
    "replicas": "cached on another replica",
    "in_flight": "not yet computed at arrival",
    "rounding": "page rounding, last token",
    "isolation": "kept apart by namespaces",
    "order": "lost to the order of the prompt",
    "elsewhere": "seen before, at another place",
    "first_seen": "new content",
}
"""The ledger's buckets in their order, in words."""

BOUNDS = {
    "current": "served now",
    "optimal_eviction": "with the best possible eviction",
    "best_order_found": "with the best order found",
    "dp_optimum": "with the best possible order",
    "every_segment_seen_before": "if whatever was seen before could be reused anywhere",
}
"""The bounds on what could be served, in words."""

_MOST_GROUPS = 8
_APART = 0.005


@dataclass(frozen=True, slots=True)
class HitRow:
    """Hits of one cache; ``rates`` is None where only the token-weighted one was measured."""

    name: str
    hits: HitCount
    rates: HitRates | None
    headline: bool


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A branch in tree order. ``level`` counts shown ancestors; ``last`` marks the last of its siblings."""

    branch: Branch
    level: int
    last: bool
    label: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class SkipRow:
    """One reason why records were skipped, with the first few places."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What to show. ``bounds``: name, tokens, rate; ``missing``: reasons and the fields they explain."""

    analysis: Analysis
    subject: tuple[str, ...]
    headline: str
    hits: tuple[HitRow, ...]
    sessions: str
    branches: tuple[BranchRow, ...]
    capacity: tuple[CapacityRow, ...]
    ledger: tuple[LedgerRow, ...]
    bounds: tuple[tuple[str, int, float], ...]
    skipped: tuple[SkipRow, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    advice: AdviceView
    losses: tuple[LossRow, ...]


def view(analysis: Analysis, *, branches: int = 10, capacities: int = 8) -> View:
    """Arrange an analysis: at most so many branches (the heaviest, with their ancestors) and capacities (the
    ends always included).
    """
    hits = analysis.hits
    rows = [HitRow("unlimited", hits.unlimited, hits.profile_rates.get("unlimited"), False)]
    rows += [
        HitRow(name, served, hits.profile_rates.get(name), name == hits.headline)
        for name, served in hits.profiles.items()
    ]
    skipped = analysis.input.skipped
    return View(
        analysis=analysis,
        subject=_subject(analysis),
        headline=_headline(analysis),
        hits=tuple(rows),
        sessions=_sessions(analysis),
        branches=tuple(_tree(analysis.branches, branches)),
        capacity=_spread(analysis.capacity, capacities),
        ledger=tuple(row for row in analysis.ledger if row.tokens),
        bounds=tuple(_bounds(analysis)),
        skipped=tuple(
            SkipRow(reason, number, skipped.examples.get(reason, ()))
            for reason, number in sorted(skipped.reasons.items(), key=lambda item: (-item[1], item[0]))
        ),
        missing=grouped_reasons(not_evaluated(analysis)),
        advice=advice_view(analysis),
        losses=tuple(
            replace(row, name=mask(row.name) or "(not named)")
            for row in (analysis.by.rows[:_MOST_GROUPS] if analysis.by else ())
        ),
    )


def _subject(analysis: Analysis) -> tuple[str, ...]:
    """What was analysed, as short facts: source, size, time, and what stands for the model."""
    source = analysis.input
    files = source.files[0] if len(source.files) == 1 else plural(len(source.files), "file")
    parts = [clip(files, 60), source.dialect, plural(source.requests, "request")]
    if source.sessions:
        parts.append(plural(source.sessions, "session"))
    if source.span_seconds is not None:
        parts.append(duration(source.span_seconds))
    parts += [
        f"{clip(used.name, 40)} tokens, {clip(used.template, 40)} template"
        + ("" if used.exact else " (stand-in)")
        for used in analysis.tokenizers
    ]
    return tuple(parts)


def _headline(analysis: Analysis) -> str:
    hits = analysis.hits
    total = plural(analysis.totals.prompt_tokens, "prompt token")
    repeated = f"{percent(hits.unlimited.rate)} of {total} repeat the beginning of an earlier prompt"
    served = hits.profiles.get(hits.headline)
    if served is None:
        return f"{repeated}."
    more = ", which reuses outputs too," if served.tokens > hits.unlimited.tokens else ""
    told = f"{repeated}; {hits.headline}{more} serves {percent(served.rate)} from its cache"
    as_served = next((row.share for row in analysis.ledger if row.bucket == "served"), None)
    if as_served is not None and served.rate - as_served > _APART:
        told += f", {percent(as_served)} as the log was served"
    return f"{told}."


def _sessions(analysis: Analysis) -> str:
    return " ".join([_overlap(analysis), *_fleets(analysis)])


def _fleets(analysis: Analysis) -> Iterator[str]:
    """What several replicas would cost, where the log tells of none."""
    if analysis.replica_range:
        rates = ", ".join(f"{row.replicas}: {percent(row.rate)}" for row in analysis.replica_range)
        yield f"Replicas that take turns, each with a cache of its own, would serve {rates}."


def _overlap(analysis: Analysis) -> str:
    hits = analysis.hits
    across = f"{percent(hits.across_sessions.rate)} repeat what other sessions sent"
    if hits.within_session is None:
        return f"Of all prompt tokens, {across}."
    within = f"{percent(hits.within_session.rate)} what their own session sent"
    return f"Of all prompt tokens, {across}, {within} (the two overlap)."


def _bounds(analysis: Analysis) -> Iterator[tuple[str, int, float]]:
    total = analysis.totals.prompt_tokens
    for name in BOUNDS:
        tokens = getattr(analysis.bounds, name)
        if tokens is not None:
            yield name, tokens, tokens / total if total else 0.0


def _tree(branches: Sequence[Branch], limit: int) -> list[BranchRow]:
    """The heaviest branches with all their ancestors, depth first, heavier siblings first."""
    chosen: set[int] = set()
    for index in sorted(range(len(branches)), key=lambda i: (-branches[i].saved, i)):
        path = {index}
        while (index := branches[index].parent) >= 0:
            path.add(index)
        if len(chosen | path) <= limit:
            chosen |= path
    children: dict[int, list[int]] = {}
    for index in sorted(chosen, key=lambda i: (-branches[i].saved, i)):
        children.setdefault(branches[index].parent, []).append(index)
    rows: list[BranchRow] = []
    stack = [(index, 0, position == 0) for position, index in enumerate(reversed(children.get(-1, [])))]
    while stack:
        index, level, last = stack.pop()
        branch = branches[index]
        rows.append(BranchRow(branch, level, last, mask(branch.label), mask(branch.excerpt)))
        below = reversed(children.get(index, []))
        stack += [(child, level + 1, position == 0) for position, child in enumerate(below)]
    return rows


def _spread(rows: Sequence[CapacityRow], limit: int) -> tuple[CapacityRow, ...]:
    if len(rows) <= limit:
        return tuple(rows)
    step = (len(rows) - 1) / (limit - 1)
    return tuple(rows[round(i * step)] for i in range(limit))


def quiet_line(analysis: Analysis) -> str:
    """The whole result in one line, for ``--quiet``."""
    served = analysis.hits.profiles.get(analysis.hits.headline)
    parts = [
        plural(analysis.input.requests, "request"),
        f"{count(analysis.totals.prompt_tokens)} prompt tokens",
        f"unlimited {percent(analysis.hits.unlimited.rate)}",
    ]
    if served is not None:
        parts.append(f"{analysis.hits.headline} {percent(served.rate)}")
    for edit, words in (("text", ""), ("serving", " in serving")):
        changes = [item for item in analysis.prescriptions if item.edit == edit]
        if changes:
            saved = count(sum(item.marginal_tokens for item in changes))
            rate = percent(changes[-1].rate_after)
            parts.append(f"{plural(len(changes), 'change')}{words} would save {saved} ({rate})")
    if analysis.input.skipped.count:
        parts.append(f"{plural(analysis.input.skipped.count, 'record')} skipped")
    return ", ".join(parts)
