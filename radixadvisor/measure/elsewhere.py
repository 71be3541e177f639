"""Repeated content that a prefix cache cannot use: runs of 32 tokens seen in an earlier prompt, at any
offset.

Every window of 32 tokens gets a 64-bit hash, made from those of its halves; a window counts as seen if its
hash occurred in an earlier prompt. Windows inside a request's matched prefix were registered when the prefix
first came, so only new content is hashed. Two different windows among n share a hash with probability below
n^2 / 2^65 (4e-6 for 12 million); nothing else is approximate. Memory: 13 bytes per new token, and a fixed
amount for sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from radixengine.cache import TOKEN_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

RUN = 32
_BATCH_TOKENS = 1 << 18
_SORT_WINDOWS = 1 << 20
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


class _Batch(NamedTuple):
    """The windows of some consecutive requests, in order.

    ``owners``: the request of each window; ``requests`` and ``windows``: the requests, and how many each has;
    ``seen``: whether an earlier request has the window.
    """

    hashes: Hashes
    owners: NDArray[np.int32]
    requests: list[int]
    windows: list[int]
    seen: NDArray[np.bool_]


def covered_elsewhere(
    prompts: Iterable[bytes],
    matched: Counts,
    vocabularies: Sequence[str] | None = None,
    *,
    counted_from: Counts | None = None,
) -> Counts:
    """Tokens behind the matched prefix that lie in a run of 32 or more seen in an earlier prompt.

    Args:
        prompts: packed int32 tokens, in order of arrival.
        matched: each prompt's longest common prefix with any earlier one of its vocabulary, in tokens.
        vocabularies: a name for each prompt; token numbers of different vocabularies mean different text.
        counted_from: count only tokens from here on, at least ``matched`` (what an output left in the
            cache, for one, is served although no earlier prompt had it).

    Returns:
        a count per prompt. Repetition inside one prompt does not count: only earlier prompts do.
    """
    import numpy as np

    batches = list(_batches(prompts, matched, vocabularies))
    _mark_seen(batches)
    covered = np.zeros(len(matched), np.int64)
    for batch in batches:
        found = np.flatnonzero(batch.seen)
        owners = batch.owners[found]
        first = np.zeros(len(matched), np.int64)
        first[batch.requests] = np.cumsum(batch.windows) - batch.windows
        floor = np.zeros(1, np.int64) if counted_from is None else (counted_from - matched)[owners]
        start = found - first[owners] - np.minimum(matched, RUN - 1)[owners]
        stop = start + RUN
        same = owners[1:] == owners[:-1]
        stop[:-1][same] = np.minimum(stop[:-1], start[1:])[same]
        np.add.at(covered, owners, np.maximum(stop - np.maximum(start, floor), 0))
    return covered


def _batches(
    prompts: Iterable[bytes], matched: Counts, vocabularies: Sequence[str] | None
) -> Iterator[_Batch]:
    """Hash all windows that reach beyond a matched prefix."""
    numbers: dict[str, int] = {}
    pieces: list[bytes] = []
    requests: list[int] = []
    salts: list[int] = []
    pending = 0
    for index, prompt in enumerate(prompts):
        piece = prompt[max(int(matched[index]) - RUN + 1, 0) * TOKEN_BYTES :]
        if len(piece) < RUN * TOKEN_BYTES:
            continue
        name = vocabularies[index] if vocabularies is not None else ""
        pieces.append(piece)
        requests.append(index)
        salts.append(numbers.setdefault(name, len(numbers)))
        pending += len(piece) // TOKEN_BYTES
        if pending >= _BATCH_TOKENS:
            yield _batch(pieces, requests, salts)
            pieces, requests, salts, pending = [], [], [], 0
    if pieces:
        yield _batch(pieces, requests, salts)


def _batch(pieces: list[bytes], requests: list[int], salts: list[int]) -> _Batch:
    import numpy as np

    lengths = [len(piece) // TOKEN_BYTES for piece in pieces]
    windows = [length - RUN + 1 for length in lengths]
    first, left, right = (np.uint64(value) for value in _MULTIPLIERS)
    hashes = np.frombuffer(b"".join(pieces), np.uint32).astype(np.uint64)
    hashes += np.repeat(np.array(salts, np.uint64) << np.uint64(32), lengths)
    hashes = _mix(hashes * first)
    width = 1
    while width < RUN:
        hashes = _mix(hashes[:-width] * left + hashes[width:] * right)
        width *= 2
    inside = np.ones(sum(lengths), np.bool_)
    for back in range(1, RUN):
        inside[np.cumsum(lengths) - back] = False
    hashes = hashes[inside[: len(hashes)]]
    owners = np.repeat(np.array(requests, np.int32), windows)
    return _Batch(hashes, owners, requests, windows, np.zeros(len(hashes), np.bool_))


def _mix(hashes: Hashes) -> Hashes:
    """Spread every bit over the word, in place."""
    import numpy as np

    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(_MULTIPLIERS[0])
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _mark_seen(batches: list[_Batch]) -> None:
    """Mark the windows whose hash a request before their own has, one range of hash values at a time."""
    import numpy as np

    total = sum(len(batch.hashes) for batch in batches)
    bits = max(total // _SORT_WINDOWS, 1).bit_length() - 1
    for number in range(1 << bits):
        members = [
            np.flatnonzero(batch.hashes >> np.uint64(64 - bits) == number)
            if bits
            else np.arange(len(batch.hashes))
            for batch in batches
        ]
        pairs = list(zip(batches, members, strict=True))
        hashes = np.concatenate([batch.hashes[chosen] for batch, chosen in pairs] or [np.zeros(0, np.uint64)])
        repeated = _repeated(hashes, bits)
        owners = np.concatenate([batch.owners[chosen] for batch, chosen in pairs] or [np.zeros(0, np.int32)])
        ordered, owners = hashes[repeated], owners[repeated]
        fresh = np.ones(len(ordered), np.bool_)
        fresh[1:] = ordered[1:] != ordered[:-1]
        seen = np.zeros(len(hashes), np.bool_)
        seen[repeated] = owners > owners[fresh][np.cumsum(fresh) - 1]
        at = 0
        for batch, chosen in pairs:
            batch.seen[chosen] = seen[at : at + len(chosen)]
            at += len(chosen)


def _repeated(hashes: Hashes, shared_bits: int) -> Counts:
    """Indices of the hashes that occur more than once, equal ones together and in ascending order.

    Sorting words whose low bits are the index is eight times faster than an argsort. Hashes that differ only
    in the bits that the index replaces fall into one group, and such a group is sorted again by the whole
    hash.
    """
    import numpy as np

    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    words = (hashes << np.uint64(shared_bits)) & ~low
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
