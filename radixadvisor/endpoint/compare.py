"""Reported against predicted cached tokens: where they differ, why, and what makes the report doubtful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from radixadvisor.endpoint.drive import Sent
from radixadvisor.endpoint.identify import LLAMA, Engine
from radixadvisor.endpoint.metrics import CacheCounters
from radixadvisor.endpoint.predict import Expected
from radixadvisor.endpoint.results import Difference, EndpointRow

__all__ = ["differences", "reason", "warnings"]

_SAME_START = 8
"""Tokens that a template's first words may give to unrelated prompts."""


def reason(expected: Expected, sent: Sent, engine: Engine, *, serial: bool) -> str:
    """Why a request's reported cached tokens are not the predicted ones; empty if they are, or if nothing is
    reported.
    """
    counts = sent.counts
    if sent.failure is not None or counts.cached is None or counts.cached == expected.cached:
        return ""
    if counts.prompt is not None and counts.prompt != expected.prompt:
        return "another template or tokenizer: the server counts other prompt tokens"
    if sent.attempts > 1:
        return "sent more than once: a failed attempt may have filled the cache"
    gap = counts.cached - expected.cached
    if counts.cached > expected.bound:
        return "the cache held what this replay had not sent: it was warm, or repeats a generated output"
    if engine.name == LLAMA:
        return "slots: the server kept or chose another sequence"
    if gap == 1 or gap == -1:
        return "the last token: the server counts it the other way"
    if gap > 0:
        return "pages: the server shares smaller pieces than predicted"
    if not serial:
        return "in flight: the prefix was not computed yet when this request came, or was evicted"
    return "not in the cache any more, or never stored"


def differences(rows: Sequence[EndpointRow]) -> tuple[Difference, ...]:
    """The rows that differ, by reason."""
    requests: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for row in rows:
        if row.reason and row.sent.counts.cached is not None:
            requests[row.reason] += 1
            tokens[row.reason] += row.sent.counts.cached - row.predicted
    order = sorted(requests, key=lambda name: (-abs(tokens[name]), name))
    return tuple(Difference(name, requests[name], tokens[name]) for name in order)


def warnings(
    rows: Sequence[EndpointRow], before: CacheCounters | None, counted: int | None, reported: int | None
) -> list[str]:
    """What makes the figures doubtful, in sentences."""
    found = []
    answered = [row for row in rows if row.sent.failure is None]
    first = next(iter(answered), None)
    cached = None if first is None else first.sent.counts.cached
    if cached is not None and cached > _SAME_START:
        found.append(
            f"The cache was warm: {cached} tokens of the very first request were cached. Restart the server "
            "or flush its cache for a fair start."
        )
    elif before is not None and before.hits > 0:
        found.append(
            "The server had served other requests before: parts of the log may have been cached already."
        )
    other = [row for row in answered if row.sent.counts.prompt not in (None, row.prompt)]
    if other:
        gaps = [(row.sent.counts.prompt or 0) - row.prompt for row in other]
        found.append(
            f"Token counts disagree for {len(other)} of {len(answered)} requests (the server counts "
            f"{median(gaps):+g} in the middle): its tokenizer or template is not the one predicted with."
        )
    silent = sum(row.sent.counts.cached is None for row in answered)
    if answered and silent == len(answered):
        found.append(
            "The server reports no cached tokens: only the times to first token show what its cache does."
        )
        found += _by_time(answered)
    elif silent:
        found.append(f"{silent} of {len(answered)} answers report no cached tokens; the sums leave them out.")
    if counted is not None and reported is not None and counted != reported:
        found.append(
            f"The server's counters rose by {counted} cached tokens, its answers add up to {reported}: other "
            "clients were served meanwhile, or attempts that failed."
        )
    return found


def _by_time(rows: Sequence[EndpointRow]) -> list[str]:
    """Times to first token where most of the prompt should be cached against where little of it should."""
    timed = [
        (row.predicted / row.prompt, row.sent.ttft)
        for row in rows
        if row.sent.ttft is not None and row.prompt
    ]
    hits = [ttft for share, ttft in timed if share >= 0.5]
    misses = [ttft for share, ttft in timed if share < 0.5]
    if not hits or not misses:
        return []
    ratio = median(misses) / median(hits)
    verdict = "it shares prefixes" if ratio > 1.2 else "they show no sharing"
    return [
        f"Requests predicted to hit begin after {median(hits) * 1000:.0f} ms, those predicted to miss after "
        f"{median(misses) * 1000:.0f} ms: {verdict}."
    ]
