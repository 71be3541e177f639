"""Whether times to first token show a prefix cache, where the server does not report one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from radixadvisor.endpoint.results import EndpointRow

__all__ = ["SHARES", "SILENT", "UNSHARED", "judged"]

SHARES = "the server shares prefixes"
UNSHARED = "no sign that the server shares prefixes"
SILENT = "that does not tell whether the server shares prefixes"

_FEWEST = 9
_WIDE = 2.0
_MORE = 1.2
_SAME = 1.1


def judged(answered: Sequence[EndpointRow]) -> Iterator[str]:
    """A sentence on whether a first token takes as long as the whole prompt would, or as what a cache leaves.

    The third of the requests with the most left to compute (by prediction) is held against the third with
    the least. Without a cache their times would differ as their prompts' lengths do, with one by more.
    """
    rows = sorted(
        (row for row in answered if row.sent.ttft is not None), key=lambda row: row.prompt - row.predicted
    )
    if len(rows) < _FEWEST:
        yield f"{len(rows)} streamed answers are too few to tell from times whether prefixes are shared."
        return
    least, most = rows[: len(rows) // 3], rows[-(len(rows) // 3) :]
    times = _ratio(least, most, lambda row: row.sent.ttft or 0.0)
    left = _ratio(least, most, lambda row: row.prompt - row.predicted)
    length = max(_ratio(least, most, lambda row: row.prompt), 1.0)
    if left < _WIDE * length:
        yield "As much is left to compute of every prompt: times cannot tell whether prefixes are shared."
        return
    verdict = SHARES if times >= _MORE * length else UNSHARED if times <= _SAME * length else SILENT
    yield (
        f"The third of the requests with the most left to compute ({left:,.1f} times as much as the third "
        f"with the least, in prompts {length:.1f} times as long) waits {times:.1f} times as long: "
        f"{verdict}."
    )


def _ratio(
    least: Sequence[EndpointRow], most: Sequence[EndpointRow], value: Callable[[EndpointRow], float]
) -> float:
    return median(map(value, most)) / max(median(map(value, least)), 1e-9)
