"""``skill-radix-scheduler-advisor.md``: the figures as an Agent Skill, for whoever will change the prompts.

The front matter holds nothing from the log. In the body, names and excerpts from the log stand in code spans,
and sentences that may quote one are escaped: no text of a prompt can become a link, a heading or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from radixadvisor.report.advice_markdown import advice_section, losses_section
from radixadvisor.report.escape import clip, code, prose
from radixadvisor.report.numbers import compact, count, mib, percent, plural
from radixadvisor.report.prediction import prediction_view
from radixadvisor.report.prediction_markdown import prediction_section
from radixadvisor.report.reasons import remedy
from radixadvisor.report.settings import settings_section
from radixadvisor.report.verdict import verdict_lines, verdict_sentence
from radixadvisor.report.view import BOUNDS, BUCKETS, View, view
from radixadvisor.results import Analysis

__all__ = ["EXAMPLE_MARK", "SKILL_NAME", "to_markdown"]

SKILL_NAME = "radix-scheduler-advisor"
EXAMPLE_MARK = 'example: "true"'
"""The front matter line that marks the example which is kept in a repository."""

_LONGEST_EXCERPT = 80
_DEEPEST = 5


def to_markdown(analysis: Analysis, *, example: bool = False) -> str:
    """The whole file. ``example`` marks it as the one that a repository keeps."""
    shown = view(analysis, branches=15, capacities=12)
    return "\n".join([*_front_matter(analysis, example), *_body(shown)]).rstrip("\n") + "\n"


def _front_matter(analysis: Analysis, example: bool) -> Iterator[str]:
    served = analysis.hits.profiles.get(analysis.hits.headline)
    figures = (
        f"Prefix-cache figures of one workload, measured on {plural(analysis.input.requests, 'request')}: "
        f"{percent(analysis.hits.unlimited.rate)} of the prompt tokens repeat the beginning of an earlier one"
    )
    if served is not None:
        figures += f", and the engine profile at hand serves {percent(served.rate)}"
    yield "---"
    yield f"name: {SKILL_NAME}"
    yield "description: >-"
    yield f"  {figures}."
    yield "  Use when changing how this workload's prompts are built, or when sizing its prefix cache."
    if example:
        yield "metadata:"
        yield f"  {EXAMPLE_MARK}"
    yield "---"
    yield ""


def _body(shown: View) -> Iterator[str]:
    yield "# What the prefix cache can do for this workload"
    yield ""
    yield f"**{prose(shown.headline)}**"
    yield ""
    yield "Measured on: " + ", ".join(code(fact) for fact in shown.subject) + "."
    yield ""
    yield from _verdict(shown)
    yield from advice_section(shown)
    yield from settings_section(shown.analysis)
    yield from prediction_section(prediction_view(shown.analysis.prediction))
    yield from _hits(shown)
    yield from losses_section(shown)
    yield from _branches(shown)
    yield from _capacity(shown)
    yield from _ledger(shown)
    yield from _watch(shown)
    yield from _check()
    yield from _notes(shown)


def _verdict(shown: View) -> Iterator[str]:
    found = shown.analysis.verdict
    if found is None:
        return
    yield "## Decision"
    yield ""
    yield f"**{prose(verdict_sentence(found.main))}**"
    yield ""
    for line in verdict_lines(found):
        yield f"- {prose(line)}"
    yield ""


def _hits(shown: View) -> Iterator[str]:
    yield "## Hits"
    yield ""
    rows = []
    for row in shown.hits:
        name = code(row.name, in_table=True) + (" (headline)" if row.headline else "")
        mean = percent(row.rates.mean_per_request if row.rates else None)
        share = percent(row.rates.share_of_requests_hit if row.rates else None)
        rows.append((name, count(row.hits.tokens), percent(row.hits.rate), mean, share))
    yield from _table(
        ("Cache", ">Tokens", ">Of prompt tokens", ">Mean per request", ">Requests with a hit"), rows
    )
    yield ""
    yield "`unlimited` is a cache without any limit; the others are engine profiles with their page size,"
    yield "last-token rule, cached outputs and namespaces. " + prose(shown.sessions)
    yield ""


def _branches(shown: View) -> Iterator[str]:
    if not shown.branches:
        return
    yield "## Keep these beginnings byte for byte the same"
    yield ""
    yield "The heaviest shared branches of the prefix tree. A request reuses a branch only if everything"
    yield "before it is identical; text that varies (a clock, an id, the question) belongs behind them."
    yield ""
    for row in shown.branches:
        branch = row.branch
        figures = [
            plural(branch.tokens, "token"),
            plural(branch.requests, "request"),
            f"saves {count(branch.saved)}",
        ]
        if branch.pin_mib is not None:
            figures.append(f"{mib(branch.pin_mib)} MiB to pin it")
        label = f"{code(clip(row.label, 40))}: " if row.label else ""
        excerpt = f" {code(clip(row.excerpt, _LONGEST_EXCERPT))}" if row.excerpt else ""
        yield f"{'  ' * min(row.level, _DEEPEST)}- {label}{', '.join(figures)}.{excerpt}"
    yield ""


def _capacity(shown: View) -> Iterator[str]:
    if not shown.capacity:
        return
    yield "## Hit rate by cache size"
    yield ""
    rows = [
        (
            compact(row.tokens),
            "-" if row.gib is None else f"{row.gib:,.2f}",
            percent(row.lru_rate),
            percent(row.optimal_rate),
        )
        for row in shown.capacity
    ]
    yield from _table((">Tokens", ">GiB", ">Least recently used", ">Best possible eviction"), rows)
    yield ""


def _ledger(shown: View) -> Iterator[str]:
    if not shown.ledger:
        return
    yield "## Where each prompt token went"
    yield ""
    rows = [
        (code(row.bucket, in_table=True), BUCKETS.get(row.bucket, "-"), count(row.tokens), percent(row.share))
        for row in shown.ledger
    ]
    yield from _table(("Bucket", "Meaning", ">Tokens", ">Share"), rows)
    yield ""
    yield "What could be served at most:"
    yield ""
    for name, tokens, rate in shown.bounds:
        yield f"- {BOUNDS[name]}: {count(tokens)} tokens, {percent(rate)}"
    yield ""


def _watch(shown: View) -> Iterator[str]:
    served = shown.analysis.hits.profiles.get(shown.analysis.hits.headline)
    yield "## What to watch in production"
    yield ""
    hits = "" if served is None else f" This log's is {percent(served.rate)}."
    yield (
        "- The hit rate: cached tokens over prompt tokens, summed over requests "
        "(`usage.prompt_tokens_details.cached_tokens` in OpenAI-compatible responses; "
        "`sglang:cached_tokens_total` over `sglang:prompt_tokens_total`, "
        f"`vllm:prefix_cache_hits_total` over `vllm:prefix_cache_queries_total`).{hits}"
    )
    yield (
        "- KV in use by running requests, apart from KV that is only cached: finished requests free nothing, "
        "so a token usage near 100 % is mostly evictable and no reason to add cards."
    )
    yield ("- TTFT of requests that miss, apart from those that hit: a good cache's median hides its misses.")
    yield (
        "- Evictions and retractions: where they rise while the hit rate falls, the pool is too small or the "
        "order of prompts has changed."
    )
    yield ""


def _check() -> Iterator[str]:
    yield "## Check the effect of a change"
    yield ""
    yield "Analyse a log from before and one from after; `diff` tells change from noise:"
    yield ""
    yield "    radixadvisor analyze before.jsonl --out before"
    yield "    radixadvisor analyze after.jsonl --out after"
    yield "    radixadvisor diff before/report.json after/report.json"
    yield ""
    yield "Keep it: `lock` records what prompts begin with, `check` ends with 1 when they no longer do so"
    yield "or when the hit rate falls:"
    yield ""
    yield "    radixadvisor lock after.jsonl -o prefix.lock"
    yield "    radixadvisor check new.jsonl --lock prefix.lock --against after/report.json --max-drop 2"
    yield ""
    yield "Measure it: `radixadvisor replay after.jsonl` runs the log on the bundled engine; with"
    yield "`--endpoint URL` the server itself serves it, and its cached tokens stand beside these figures."
    yield ""


def _notes(shown: View) -> Iterator[str]:
    analysis = shown.analysis
    if shown.skipped:
        yield f"## Skipped: {plural(analysis.input.skipped.count, 'record')}"
        yield ""
        for row in shown.skipped:
            places = ", ".join(code(clip(place, 60)) for place in row.examples[:3])
            yield f"- {count(row.count)} × {prose(row.reason)}" + (f": {places}" if places else "")
        yield ""
    if analysis.assumptions:
        yield "## Assumptions"
        yield ""
        for item in analysis.assumptions:
            yield f"- {prose(item.text)} ({prose(item.effect)})"
        yield ""
    if shown.missing:
        yield "## Not evaluated"
        yield ""
        for reason, names in shown.missing:
            advice = remedy(names)
            fields = ", ".join(code(name) for name in names)
            yield f"- {fields}: {prose(reason)}" + (f"; to get it, {prose(advice)}" if advice else "")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table; columns whose title starts with ``>`` are right-aligned. Cells must be escaped already."""
    yield "| " + " | ".join(column.lstrip(">") for column in columns) + " |"
    yield "| " + " | ".join("---:" if column.startswith(">") else "---" for column in columns) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
