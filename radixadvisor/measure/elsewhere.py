"""Repeated content that a prefix cache cannot use: runs of 32 tokens seen in an earlier prompt, at any
offset.

Every window of 32 tokens gets a 64-bit hash, made from those of its halves; a window counts as seen if its
hash occurred in an earlier prompt. Windows inside a request's matched prefix, or inside a run of tokens that
is known to stand in an earlier prompt, were registered when they first came, so only new content is hashed.
Two different windows among n share a hash with probability below n^2 / 2^65 (4e-6 for 12 million); nothing
else is approximate. Memory: 16 bytes per window hashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from radixengine.cache import TOKEN_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

RUN = 32
_BATCH_TOKENS = 1 << 16
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


class Runs(NamedTuple):
    """Runs of tokens, each of which stands whole in a prompt before its own.

    Ordered by request, then by start; ``starts`` and ``stops`` count the prompt's tokens.
    """

    requests: Counts
    starts: Counts
    stops: Counts


class _Windows(NamedTuple):
    """Stretches of windows: the request of each, its first window, and how many there are."""

    requests: Counts
    firsts: Counts
    counts: Counts


def covered_elsewhere(
    prompts: Iterable[bytes],
    matched: Counts,
    vocabularies: Sequence[str] | None = None,
    *,
    counted_from: Counts | None = None,
    known_runs: Runs | None = None,
) -> Counts:
    """Tokens behind the matched prefix that lie in a run of 32 or more seen in an earlier prompt.

    Args:
        prompts: packed int32 tokens, in order of arrival.
        matched: each prompt's longest common prefix with any earlier one of its vocabulary, in tokens.
        vocabularies: a name for each prompt; token numbers of different vocabularies mean different text.
        counted_from: count only tokens from here on, at least ``matched`` (what an output left in the
            cache, for one, is served although no earlier prompt had it).
        known_runs: runs that stand in an earlier prompt of the same vocabulary. They change no count; what
            is inside them need not be looked for.

    Returns:
        a count per prompt. Repetition inside one prompt does not count: only earlier prompts do.
    """
    import numpy as np

    fresh, known, hashes = _look(prompts, matched, vocabularies, known_runs)
    found = _seen_earlier(hashes, fresh)
    requests = np.concatenate((known.requests, found.requests))
    firsts = np.concatenate((known.firsts, found.firsts))
    # Two ordered columns, which a stable sort merges at once.
    order = np.argsort(requests * (int(firsts.max(initial=0)) + 1) + firsts, kind="stable")
    requests, firsts = requests[order], firsts[order]
    stops = firsts + np.concatenate((known.counts, found.counts))[order] + (RUN - 1)
    same = requests[1:] == requests[:-1]
    stops[:-1][same] = np.minimum(stops[:-1], firsts[1:])[same]
    floor = (matched if counted_from is None else counted_from)[requests]
    covered = np.zeros(len(matched), np.int64)
    np.add.at(covered, requests, np.maximum(stops - np.maximum(firsts, floor), 0))
    return covered


def _look(
    prompts: Iterable[bytes], matched: Counts, vocabularies: Sequence[str] | None, known_runs: Runs | None
) -> tuple[_Windows, _Windows, Hashes]:
    """The windows that reach beyond a matched prefix: those to hash, those inside known runs, the hashes."""
    import numpy as np

    begins = np.maximum(matched - RUN + 1, 0)
    known, gaps, rests = _outline(begins, known_runs)
    fresh: list[tuple[int, int, int]] = []
    numbers: dict[str, int] = {}
    batch = _Batch()
    # The last gap of a prompt reaches to its end.
    open_ends = zip(*(column.tolist() for column in gaps), strict=True)
    gap = next(open_ends, None)
    for index, (prompt, rest) in enumerate(zip(prompts, rests.tolist(), strict=True)):
        salt = numbers.setdefault(vocabularies[index] if vocabularies is not None else "", len(numbers))
        while gap is not None and gap[0] == index:
            _, start, count = gap
            gap = next(open_ends, None)
            fresh.append((index, start, count))
            batch.add(prompt[start * TOKEN_BYTES : (start + count + RUN - 1) * TOKEN_BYTES], salt)
        count = len(prompt) // TOKEN_BYTES - RUN + 1 - rest
        if count > 0:
            fresh.append((index, rest, count))
            batch.add(prompt[rest * TOKEN_BYTES :], salt)
    return _columns(fresh), known, batch.finish()


def _outline(begins: Counts, runs: Runs | None) -> tuple[_Windows, _Windows, Counts]:
    """From each prompt's first window of interest on: the windows inside runs, each once; those in gaps
    before a run; and for each prompt the first window behind all of its runs.
    """
    import numpy as np

    if runs is None:
        return _columns([]), _columns([]), begins
    long = runs.stops - runs.starts >= RUN
    requests, starts = runs.requests[long], runs.starts[long]
    ends = runs.stops[long] - RUN + 1
    # A maximum that runs on within each prompt: raised from prompt to prompt by more than any position.
    span = int(max(ends.max(initial=0), begins.max(initial=0))) + 1
    reached = np.maximum.accumulate(np.maximum(ends, begins[requests]) + requests * span) - requests * span
    first = np.ones(len(requests), np.bool_)
    first[1:] = requests[1:] != requests[:-1]
    at = np.where(first, begins[requests], np.concatenate(([0], reached[:-1]))[: len(reached)])
    rests = begins.copy()
    np.maximum.at(rests, requests, reached)
    further = ends > at
    requests, starts, ends, at = requests[further], starts[further], ends[further], at[further]
    inside = np.maximum(starts, at)
    known = _Windows(requests, inside, ends - inside)
    open_ = starts > at
    return known, _Windows(requests[open_], at[open_], (starts - at)[open_]), rests


def _columns(rows: list[tuple[int, int, int]]) -> _Windows:
    import numpy as np

    return _Windows(*np.array(rows, np.int64).reshape(-1, 3).T)


class _Batch:
    """Hashes the windows of stretches of tokens, many stretches at a time."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._salts: list[int] = []
        self._pending = 0
        self._hashes: list[Hashes] = []

    def add(self, piece: bytes, salt: int) -> None:
        """The packed tokens of a stretch: ``RUN - 1`` more than it has windows."""
        self._pieces.append(piece)
        self._salts.append(salt)
        self._pending += len(piece) // TOKEN_BYTES
        if self._pending >= _BATCH_TOKENS:
            self._hash()

    def finish(self) -> Hashes:
        """The hashes of all windows, in order."""
        import numpy as np

        self._hash()
        return np.concatenate(self._hashes or [np.zeros(0, np.uint64)])

    def _hash(self) -> None:
        import numpy as np

        lengths = np.array([len(piece) // TOKEN_BYTES for piece in self._pieces], np.int64)
        first, left, right = (np.uint64(value) for value in _MULTIPLIERS)
        hashes = np.frombuffer(b"".join(self._pieces), np.uint32).astype(np.uint64)
        hashes += np.repeat(np.array(self._salts, np.uint64) << np.uint64(32), lengths)
        hashes = _mix(hashes * first)
        width = 1
        while width < RUN:
            hashes = _mix(hashes[:-width] * left + hashes[width:] * right)
            width *= 2
        inside = np.ones(int(lengths.sum()), np.bool_)
        for back in range(1, RUN):
            inside[np.cumsum(lengths) - back] = False
        self._hashes.append(hashes[inside[: len(hashes)]])
        self._pieces, self._salts, self._pending = [], [], 0


def _mix(hashes: Hashes) -> Hashes:
    """Spread every bit over the word, in place."""
    import numpy as np

    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(_MULTIPLIERS[0])
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _seen_earlier(hashes: Hashes, windows: _Windows) -> _Windows:
    """The windows, one by one and in order, whose hash a request before their own has."""
    import numpy as np

    repeated = _repeated(hashes)
    ends = np.cumsum(windows.counts)
    stretch = np.searchsorted(ends, repeated, side="right")
    values, requests = hashes[repeated], windows.requests[stretch]
    new = np.ones(len(repeated), np.bool_)
    new[1:] = values[1:] != values[:-1]
    seen = requests > requests[new][np.cumsum(new) - 1]
    at = np.sort(repeated[seen])
    stretch = np.searchsorted(ends, at, side="right")
    firsts = windows.firsts[stretch] + at - (ends - windows.counts)[stretch]
    return _Windows(windows.requests[stretch], firsts, np.ones(len(at), np.int64))


def _repeated(hashes: Hashes) -> Counts:
    """Indices of the hashes that occur more than once, equal ones together and in ascending order.

    Sorting words whose low bits are the index is eight times faster than an argsort. Hashes that differ only
    in the bits that the index replaces fall into one group, and such a group is sorted again by the whole
    hash.
    """
    import numpy as np

    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    words = hashes & ~low
    words |= np.arange(len(hashes), dtype=np.uint64)
    words.sort()
    equal = (words[1:] ^ words[:-1]) <= low
    many = np.zeros(len(hashes), np.bool_)
    many[1:] |= equal
    many[:-1] |= equal
    words = words[many]
    indices = (words & low).astype(np.int64)
    values = hashes[indices]
    mixed = np.flatnonzero((values[1:] != values[:-1]) & ((words[1:] ^ words[:-1]) <= low))
    if len(mixed):
        groups = words & ~low
        again = np.flatnonzero(np.isin(groups, groups[mixed]))
        indices[again] = indices[again][np.lexsort((indices[again], values[again], groups[again]))]
    return indices
