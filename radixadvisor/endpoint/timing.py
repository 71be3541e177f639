"""Whether times to first token show a prefix cache, where the server does not report one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import StatisticsError, correlation, quantiles

from radixadvisor.endpoint.results import EndpointRow

__all__ = ["SHARES", "SILENT", "UNSHARED", "judged"]

SHARES = "the server shares prefixes"
UNSHARED = "no sign that the server shares prefixes"
SILENT = "that does not tell whether the server shares prefixes"

_FEWEST = 8
_CLEAR = 0.5
_APART = 0.2
_NONE = 0.3
_WIDE = 2.0


def judged(answered: Sequence[EndpointRow]) -> Iterator[str]:
    """A sentence on whether prefill takes as long as the whole prompt would, or only what a cache leaves.

    Spearman's rank correlation of the times with both is compared: it needs no model of the server's speed,
    and a slow first request weighs no more than any other.
    """
    rows = [row for row in answered if row.sent.ttft is not None]
    if len(rows) < _FEWEST:
        yield f"{len(rows)} streamed answers are too few to tell from times whether prefixes are shared."
        return
    times = [row.sent.ttft or 0.0 for row in rows]
    left = [row.prompt - row.predicted for row in rows]
    short = _rank_correlation(times, left)
    whole = _rank_correlation(times, [row.prompt for row in rows])
    if short is None:
        yield "As much is left to compute of every prompt: the times cannot tell whether prefixes are shared."
        return
    if short >= _CLEAR and short - (whole or 0.0) >= _APART:
        verdict = SHARES
    elif whole is not None and whole >= _CLEAR and whole - short >= _APART:
        verdict = UNSHARED
    else:
        cuts = quantiles(left, n=10)
        verdict = UNSHARED if short < _NONE and cuts[-1] >= _WIDE * max(cuts[0], 1.0) else SILENT
    length = "none" if whole is None else f"{whole:.2f}"
    yield (
        f"Times to first token go with what a prefix cache would leave to compute at a rank correlation of "
        f"{short:.2f}, with the whole prompt's length at {length}: {verdict}."
    )


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """None where one of the two does not vary."""
    try:
        return correlation(_ranks(first), _ranks(second))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 0, equal values sharing their mean."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2
        start = end + 1
    return ranks
