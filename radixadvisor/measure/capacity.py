"""Hits of an LRU prefix cache at every capacity, from one pass over the log.

With unit pages and one request at a time, a radix cache that evicts its least recently used leaf is plain LRU
over (path, position) items that each request touches leaf first, so a larger cache holds all that a smaller
one does. An item hits at capacity C exactly if its reuse distance (items touched since it was) is below C.
Along a path the positions last touched by the same request lie together and their distances are consecutive,
so one run of them is two numbers; how many items were touched since is a Fenwick tree over request indices.

The model ignores that an engine recomputes the last prompt token and evicts whole nodes (up to 0.6 points),
and it lets a request longer than C keep the part of its path that is nearest the root.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.measure.optimal import optimal_hits
from radixadvisor.measure.paths import Paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class CapacityCurve:
    """Hits of the requests counted, as a function of capacity.

    ``rises`` and ``ends``: reuse distances, sorted, at which a run of consecutive distances begins and is
    over. ``short``: sorted distances of hit last blocks that are not whole, ``short_missing`` the tokens they
    lack, summed up. ``tokens`` are the prompt tokens of the requests counted.
    """

    rises: Counts
    ends: Counts
    rise_sums: Counts
    end_sums: Counts
    short: Counts
    short_missing: Counts
    unit: int
    tokens: int

    def hits(self, capacity: int) -> int:
        """Prompt tokens served by a cache of ``capacity`` tokens (whole positions of ``unit`` tokens)."""
        import numpy as np

        size = capacity // self.unit
        risen, ended = int(np.searchsorted(self.rises, size)), int(np.searchsorted(self.ends, size))
        positions = (risen - ended) * size - int(self.rise_sums[risen] - self.end_sums[ended])
        lacking = int(self.short_missing[np.searchsorted(self.short, size)])
        return positions * self.unit - lacking

    def rate(self, capacity: int) -> float:
        """``hits`` as a fraction of the prompt tokens; 0 without any."""
        return self.hits(capacity) / self.tokens if self.tokens else 0.0

    @property
    def saturation(self) -> int:
        """The smallest capacity, in tokens, that serves as much as an unlimited one."""
        return int(self.ends[-1]) * self.unit if len(self.ends) else 0


@dataclass(frozen=True, slots=True)
class CapacityCurves:
    """All requests, and the steady state alone: the second half of the requests by arrival.

    By then the cache is warm to the degree that this log can warm it; the first half is left out of the hits
    and of the tokens they are divided by, not out of the cache.
    """

    total: CapacityCurve
    steady: CapacityCurve


@dataclass(frozen=True, slots=True)
class CapacityPoint:
    """One cache size. ``gib`` is None without the bytes of KV per token, the optimum unless asked for."""

    tokens: int
    gib: float | None
    lru_rate: float
    optimal_rate: float | None
    steady_lru_rate: float
    steady_optimal_rate: float | None


def steady_start(requests: int) -> int:
    """Index of the first request that counts as steady state."""
    return requests // 2


def lru_curves(paths: Paths) -> CapacityCurves:
    """The hits of a leaf-LRU cache at every capacity (Mattson's stack distances on compressed edges).

    Takes O(edges touched + runs x log requests).
    """
    distances, lengths, short, lacking = (array("q") for _ in range(4))
    stack = _Stack(paths.requests, len(paths.sizes))
    starts, edges, sizes = paths.starts.tolist(), paths.edges.tolist(), paths.sizes.tolist()
    marks = (0, 0)
    for index in range(paths.requests):
        if index == steady_start(paths.requests):
            marks = (len(distances), len(short))
        runs, new = stack.touch(edges[starts[index] : starts[index + 1]], sizes)
        for distance, length in runs:
            distances.append(distance)
            lengths.append(length)
        if runs and not new and paths.missing[index]:
            short.append(distances[-1] + lengths[-1] - 1)
            lacking.append(paths.missing[index])
    total = _curve(distances, lengths, short, lacking, paths.unit, paths.tokens())
    run, last = marks
    tokens = paths.tokens(steady_start(paths.requests))
    steady = _curve(distances[run:], lengths[run:], short[last:], lacking[last:], paths.unit, tokens)
    return CapacityCurves(total, steady)


class _Stack:
    """Recency of all positions: the last request that touched each edge, and a Fenwick tree that counts the
    positions whose last touch was in requests ``1 .. i`` (0 is never).
    """

    def __init__(self, requests: int, edges: int) -> None:
        self._last = [0] * edges
        self._counts = [0] * (requests + 1)
        self._now = 0
        self._held = 0

    def touch(self, edges: Iterable[int], sizes: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
        """Touch the path of the next request: (first distance, length) of each run of known positions, and
        the number of new positions at the path's end.
        """
        last, self._now = self._last, self._now + 1
        seen: list[int] = []
        runs: list[int] = []
        for edge in edges:
            before = last[edge]
            last[edge] = self._now
            if seen and seen[-1] == before:
                runs[-1] += sizes[edge]
            else:
                seen.append(before)
                runs.append(sizes[edge])
        touched = sum(runs)
        new = runs.pop() if seen and not seen[-1] else 0
        found = [
            (self._held - self._until(before), length) for before, length in zip(seen, runs, strict=False)
        ]
        for before, length in zip(seen, runs, strict=False):
            self._add(before, -length)
        self._add(self._now, touched)
        self._held += new
        return found, new

    def _until(self, request: int) -> int:
        counts, total = self._counts, 0
        while request:
            total += counts[request]
            request &= request - 1
        return total

    def _add(self, request: int, positions: int) -> None:
        counts = self._counts
        size = len(counts)
        while request < size:
            counts[request] += positions
            request += request & -request


def _curve(
    distances: array[int], lengths: array[int], short: array[int], lacking: array[int], unit: int, tokens: int
) -> CapacityCurve:
    import numpy as np

    def sums(values: Counts) -> Counts:
        return np.concatenate(([0], np.cumsum(values, dtype=np.int64)))

    rises = np.array(distances, np.int64)
    ends = rises + np.array(lengths, np.int64)
    rises.sort()
    ends.sort()
    at = np.array(short, np.int64)
    order = np.argsort(at, kind="stable")
    return CapacityCurve(
        rises,
        ends,
        sums(rises),
        sums(ends),
        at[order],
        sums(np.array(lacking, np.int64)[order]),
        unit,
        tokens,
    )


def capacity_table(
    paths: Paths, curves: CapacityCurves, *, kv_bytes_per_token: float | None = None, optimal: bool = True
) -> list[CapacityPoint]:
    """Rows from the longest request's size to where the curve saturates, about six per factor of ten.

    A smaller cache cannot hold every request while it runs. The last row serves as much as an unlimited
    cache.
    """
    first = steady_start(paths.requests)
    rows = []
    for tokens in _capacities(paths.longest() * paths.unit, curves.total.saturation):
        best: tuple[float | None, float | None] = (None, None)
        if optimal:
            whole, steady = optimal_hits(paths, tokens, first)
            best = _rate(whole, curves.total.tokens), _rate(steady, curves.steady.tokens)
        gib = None if kv_bytes_per_token is None else tokens * kv_bytes_per_token / GIB
        rates = curves.total.rate(tokens), curves.steady.rate(tokens)
        rows.append(CapacityPoint(tokens, gib, rates[0], best[0], rates[1], best[1]))
    return rows


def _rate(hits: int, tokens: int) -> float:
    return hits / tokens if tokens else 0.0


def _capacities(smallest: int, largest: int) -> list[int]:
    """Round numbers of tokens between the two, and the larger one itself."""
    largest = max(smallest, largest)
    exponents = range(1, len(str(largest)))
    steps = [step * 10**power // 10 for power in exponents for step in (10, 15, 20, 30, 50, 70)]
    between = [tokens for tokens in steps if smallest <= tokens < largest]
    return [*between, largest] if largest else []
