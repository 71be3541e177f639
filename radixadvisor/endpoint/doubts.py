"""What makes a replay's figures doubtful, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from radixadvisor.endpoint.drive import LOST_IN_A_ROW, NOT_SENT
from radixadvisor.endpoint.identify import SGLANG, VLLM, Engine
from radixadvisor.endpoint.metrics import CacheCounters
from radixadvisor.endpoint.results import EndpointRow
from radixadvisor.endpoint.server import CUT
from radixadvisor.endpoint.timing import judged

__all__ = ["warnings"]

_SAME_START = 8
"""Tokens that a template's first words may give to unrelated prompts."""

_LATE = 1.0

_SWITCHES = {VLLM: "--enable-prompt-tokens-details", SGLANG: "--enable-cache-report"}


def warnings(
    rows: Sequence[EndpointRow],
    engine: Engine,
    before: CacheCounters | None,
    counted: int | None,
    reported: int | None,
    late: float,
) -> tuple[str, ...]:
    """All of them, the gravest first."""
    answered = [row for row in rows if row.sent.failure is None]
    return (
        *_warmth(answered, before),
        *_counts(answered),
        *_silence(answered, engine),
        *_counters(counted, reported),
        *_trouble(rows, late),
    )


def _warmth(answered: Sequence[EndpointRow], before: CacheCounters | None) -> Iterator[str]:
    first = min(answered, key=lambda row: row.sent.begun, default=None)
    if first is not None and first.sent.attempts == 1 and (first.reported or 0) > _SAME_START:
        yield (
            f"The cache was warm: {first.reported} tokens of the very first request were cached. Restart the "
            "server or flush its cache for a fair start."
        )
    elif before is not None and before.prompt > 0:
        yield (
            "The cache may have been warm: the server had served other requests before. Restart it or flush "
            "its cache for a fair start."
        )


def _counts(answered: Sequence[EndpointRow]) -> Iterator[str]:
    known = [row for row in answered if row.sent.counts.prompt is not None]
    gaps = [gap for row in known if (gap := (row.sent.counts.prompt or 0) - row.prompt)]
    if gaps:
        yield (
            f"Token counts disagree for {len(gaps)} of {len(known)} requests (by {median(gaps):+g} in the "
            "middle): the server's tokenizer or template is not the one predicted with. --tokenizer and "
            "--chat-template name others."
        )
    if wrong := sum(row.sent.counts.impossible for row in answered):
        yield (
            f"{wrong} of {len(answered)} answers report more cached tokens than their prompt has: their "
            "usage is wrong and left out."
        )


def _silence(answered: Sequence[EndpointRow], engine: Engine) -> Iterator[str]:
    silent = [row for row in answered if row.reported is None and not row.sent.counts.impossible]
    if answered and len(silent) == len(answered):
        switch = _SWITCHES.get(engine.name)
        start = f" (it would if started with {switch})" if switch else ""
        yield (
            f"The server reports no cached tokens{start}: only the times to first token show what its cache "
            "does."
        )
        yield from judged(answered)
    elif silent:
        yield (
            f"{len(silent)} of {len(answered)} answers report no cached tokens; the sums leave these "
            "requests out."
        )


def _counters(counted: int | None, reported: int | None) -> Iterator[str]:
    if counted is not None and reported is not None and counted != reported:
        yield (
            f"The server's counters rose by {counted:,} cached tokens, its answers add up to {reported:,}: "
            "other clients were served meanwhile, or attempts that failed."
        )


def _trouble(rows: Sequence[EndpointRow], late: float) -> Iterator[str]:
    """Attempts that failed, requests that got no answer, a load that fell behind."""
    failures: dict[str, int] = {}
    for row in rows:
        for name, count in row.sent.failures.items():
            failures[name] = failures.get(name, 0) + count
    if failures:
        again = sum(row.sent.failure is None and row.sent.attempts > 1 for row in rows)
        yield (
            f"{sum(failures.values())} attempts failed ({_list(failures)}); {again} requests were answered "
            "when sent again."
        )
    if failures.get(CUT):
        yield "Cut streams may have left their prompt in the cache: requests sent again then hit more."
    if unsent := sum(row.sent.failure == NOT_SENT for row in rows):
        yield f"The server was given up after {LOST_IN_A_ROW} requests in a row: {unsent} were not sent."
    if failures.get("401") or failures.get("403"):
        yield "The server refuses the key, or wants one: name its variable with --api-key-env."
    if late > _LATE:
        yield f"The load fell behind the log's times: a tenth of it was sent {late:,.1f} s late or more."


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
