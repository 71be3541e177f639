"""Runs of tokens that a trace knows to be repeated, because it keeps each distinct text once."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from radixadvisor.measure.elsewhere import Runs
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

_TOKEN_BYTES = 4


class _Table(NamedTuple):
    """The segments of all pools, numbered through: ``base`` is the number of each pool's first one.

    ``sizes``: tokens of each segment; the rest is a row for each long piece, as in ``Pieces``.
    """

    base: Counts
    sizes: Counts
    segments: Counts
    numbers: Counts
    starts: Counts
    lengths: Counts


def repeated_runs(trace: Trace) -> Runs:
    """Segments, neighbours and long pieces of segments that an earlier prompt has too.

    Requests are numbered in order of arrival; pools share nothing. Not every repeat is found: tokens may
    agree where the texts around them do not.
    """
    import numpy as np

    table = _table(trace)
    used = [trace.segments[index] for index in trace.order]
    counts = np.array([len(segments) for segments in used], np.int64)
    pools = np.array([trace.pool_of[index] for index in trace.order], np.int64)
    segments = np.fromiter(chain.from_iterable(used), np.int64, int(counts.sum()))
    segments += np.repeat(table.base[pools], counts)
    requests = np.repeat(np.arange(len(used)), counts)
    borders = np.concatenate(([0], np.cumsum(table.sizes[segments])))
    before = np.repeat(borders[np.cumsum(counts) - counts], counts)
    starts, stops = borders[:-1] - before, borders[1:] - before

    known = _repeated(segments, requests)
    found = [(requests[known], starts[known], stops[known])]

    neighbours = np.flatnonzero(requests[1:] == requests[:-1])
    pairs = segments[neighbours] * len(table.sizes) + segments[neighbours + 1]
    known = neighbours[_repeated(pairs, requests[neighbours])]
    found.append((requests[known], starts[known], stops[known + 1]))

    # Pieces matter where their segment is new.
    names, uses = np.unique(segments, return_index=True)
    first = np.full(len(table.sizes), -1)
    first[names] = uses
    rows = np.flatnonzero(first[table.segments] >= 0)
    use = first[table.segments[rows]]
    known = _repeated(table.numbers[rows], requests[use])
    rows, use = rows[known], use[known]
    start = starts[use] + table.starts[rows]
    found.append((requests[use], start, start + table.lengths[rows]))

    runs = Runs(*map(np.concatenate, zip(*found, strict=True)))
    order = np.lexsort((runs.starts, runs.requests))
    return Runs(*(column[order] for column in runs))


def _repeated(keys: Counts, requests: Counts) -> Counts:
    """Indices of the keys that a request before their own has."""
    import numpy as np

    _, inverse = np.unique(keys, return_inverse=True)
    earliest = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(earliest, inverse, requests)
    return np.flatnonzero(earliest[inverse] < requests)


def _table(trace: Trace) -> _Table:
    import numpy as np

    base, sizes = [], []
    columns: tuple[list[Counts], ...] = ([], [], [], [])
    segments = numbers = 0
    for pool in trace.pools:
        base.append(segments)
        if not isinstance(pool, SegmentPool):
            continue
        sizes.append(np.array([len(tokens) for tokens in pool.tokens], np.int64) // _TOKEN_BYTES)
        pieces = [np.array(column, np.int64) for column in pool.pieces]
        for column, values, offset in zip(columns, pieces, (segments, numbers, 0, 0), strict=True):
            column.append(values + offset)
        segments += len(pool.tokens)
        numbers += int(pieces[1].max(initial=-1)) + 1
    whole = [np.concatenate(column or [np.zeros(0, np.int64)]) for column in (sizes, *columns)]
    return _Table(np.array(base, np.int64), *whole)
