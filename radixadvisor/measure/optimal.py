"""The optimal bound: what no eviction policy can exceed at a given capacity, in the given order of arrival.

Belady's rule on a tree: evict the position whose next use is farthest away, deeper ones first among equals. A
parent's next use is never later than its child's, so the victims are always leaves, and for positions of
equal size the rule is exact. All positions of an edge of the finished tree have the same next use, so an edge
is evicted from its end, as far as needed.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from radixadvisor.measure.paths import Paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


def optimal_hits(paths: Paths, capacity: int, steady_start: int = 0) -> tuple[int, int]:
    """Prompt tokens served under the optimal policy by ``capacity`` tokens, in whole positions.

    A request is held whole while it runs; one that is larger than the cache is served what is there and
    leaves the cache as it was.

    Returns:
        the hits of all requests, and of those from index ``steady_start`` on.
    """
    size = capacity // paths.unit
    next_use = _next_uses(paths)
    # Plain lists: an array makes a new integer at each look.
    sizes, starts, all_edges = paths.sizes.tolist(), paths.starts.tolist(), paths.edges.tolist()
    unit = paths.unit
    # A key orders edges by next use, then depth: an edge's number exceeds its ancestors' numbers.
    span = len(sizes)
    resident = [0] * span
    key_of = [0] * span
    heap: list[int] = []
    free = size
    live = 0
    hits = steady = 0
    for index in range(paths.requests):
        if index == steady_start:
            steady = hits
        edges = all_edges[starts[index] : starts[index + 1]]
        total = sum(map(sizes.__getitem__, edges))
        held = sum(map(resident.__getitem__, edges))
        hits += held * unit
        if held == total:
            hits -= paths.missing[index] if total else 0
        if total > size:
            for edge, following in zip(edges, next_use[starts[index] : starts[index + 1]], strict=True):
                if resident[edge]:
                    key_of[edge] = -(following * span + edge)
                    heappush(heap, key_of[edge])
            continue
        for edge in edges:
            key_of[edge] = 0
        short = total - held - free
        while short > 0:
            edge = -heap[0] % span
            if key_of[edge] != heap[0]:
                heappop(heap)
                continue
            gone = min(resident[edge], short)
            resident[edge] -= gone
            free += gone
            short -= gone
            if not resident[edge]:
                key_of[edge] = 0
                live -= 1
                heappop(heap)
        free -= total - held
        for edge, following in zip(edges, next_use[starts[index] : starts[index + 1]], strict=True):
            if not resident[edge]:
                live += 1
            resident[edge] = sizes[edge]
            key_of[edge] = key = -(following * span + edge)
            heappush(heap, key)
        if len(heap) > 4 * live + 1024:
            heap = [key_of[edge] for edge in range(span) if resident[edge]]
            heapify(heap)
    return hits, hits - steady


def _next_uses(paths: Paths) -> list[int]:
    """For each touch of an edge, the next request that touches it, or the number of requests if none does."""
    import numpy as np

    edges = np.array(paths.edges, np.int64)
    starts = np.array(paths.starts, np.int64)
    users = np.repeat(np.arange(paths.requests), np.diff(starts))
    order = np.argsort(edges, kind="stable")
    following = np.full(len(edges), paths.requests, np.int64)
    same = edges[order[1:]] == edges[order[:-1]]
    following[order[:-1][same]] = users[order[1:]][same]
    return following.tolist()
