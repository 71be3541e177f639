"""Repeated content that a prefix cache cannot use: runs of 32 tokens that stood in an earlier prompt, at any
offset.

Every window of 32 tokens gets a 64-bit hash, made from those of its halves; a window counts as seen if its
hash occurred in an earlier prompt. Windows inside a request's matched prefix were registered when the prefix
first came, so only new content is hashed. Two different windows among n share a hash with probability below
n^2 / 2^65 (4e-6 for 12 million); nothing else is approximate. Memory: 13 bytes per new token, and a fixed
amount for sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from radixengine.cache import TOKEN_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

RUN = 32
_BATCH_TOKENS = 1 << 18
_SORT_WINDOWS = 1 << 22
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


def covered_elsewhere(
    prompts: Iterable[bytes], matched: Counts, vocabularies: Sequence[str] | None = None
) -> Counts:
    """Tokens behind the matched prefix that lie in a run of 32 or more seen in an earlier prompt.

    Args:
        prompts: packed int32 tokens, in order of arrival.
        matched: each prompt's longest common prefix with any earlier one of its vocabulary, in tokens.
        vocabularies: a name for each prompt; token numbers of different vocabularies mean different text.

    Returns:
        a count per prompt. Repetition inside one prompt does not count: only earlier prompts do.
    """
    import numpy as np

    hashes, windows = _windows(prompts, matched, vocabularies)
    owner = np.repeat(np.arange(len(windows), dtype=np.int32), windows)
    found = np.flatnonzero(_seen_before(hashes, owner))
    covered = np.zeros(len(windows), np.int64)
    if not len(found):
        return covered
    requests = owner[found]
    first_window = np.cumsum(windows) - windows
    # A window's place behind the matched prefix: up to 31 of the hashed windows begin inside it.
    start = found - first_window[requests] - np.minimum(matched, RUN - 1)[requests]
    stop = start + RUN
    same = requests[1:] == requests[:-1]
    stop[:-1][same] = np.minimum(stop[:-1], start[1:])[same]
    np.add.at(covered, requests, np.maximum(stop - np.maximum(start, 0), 0))
    return covered


def _windows(
    prompts: Iterable[bytes], matched: Counts, vocabularies: Sequence[str] | None
) -> tuple[Hashes, Counts]:
    """The hashes of all windows that reach beyond a matched prefix, and their number for each prompt."""
    import numpy as np

    windows = np.zeros(len(matched), np.int64)
    numbers: dict[str, int] = {}
    parts: list[Hashes] = []
    pieces: list[bytes] = []
    lengths: list[int] = []
    salts: list[int] = []
    pending = 0
    for index, prompt in enumerate(prompts):
        piece = prompt[max(int(matched[index]) - RUN + 1, 0) * TOKEN_BYTES :]
        length = len(piece) // TOKEN_BYTES
        if length < RUN:
            continue
        windows[index] = length - RUN + 1
        pieces.append(piece)
        lengths.append(length)
        name = vocabularies[index] if vocabularies is not None else ""
        salts.append(numbers.setdefault(name, len(numbers)))
        pending += length
        if pending >= _BATCH_TOKENS:
            parts.append(_hash(pieces, lengths, salts))
            pieces, lengths, salts, pending = [], [], [], 0
    if pieces:
        parts.append(_hash(pieces, lengths, salts))
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64), windows


def _hash(pieces: list[bytes], lengths: list[int], salts: list[int]) -> Hashes:
    """Hashes of the windows inside each piece, in order."""
    import numpy as np

    first, left, right = (np.uint64(value) for value in _MULTIPLIERS)
    hashes = np.frombuffer(b"".join(pieces), np.uint32).astype(np.uint64)
    hashes += np.repeat(np.array(salts, np.uint64) << np.uint64(32), lengths)
    hashes = _mix(hashes * first)
    width = 1
    while width < RUN:
        hashes = _mix(hashes[:-width] * left + hashes[width:] * right)
        width *= 2
    ends = np.cumsum(lengths)
    inside = np.ones(int(ends[-1]), np.bool_)
    for back in range(1, RUN):
        inside[ends - back] = False
    return hashes[inside[: len(hashes)]]


def _mix(hashes: Hashes) -> Hashes:
    """Spread every bit over the word, in place."""
    import numpy as np

    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(_MULTIPLIERS[0])
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _seen_before(hashes: Hashes, owner: NDArray[np.int32]) -> NDArray[np.bool_]:
    """For each window whether a request before its own has one of the same hash. Sorts one range of hashes at
    a time.
    """
    import numpy as np

    seen = np.zeros(len(hashes), np.bool_)
    bits = max(len(hashes) // _SORT_WINDOWS, 1).bit_length() - 1
    ranges = (hashes >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(len(hashes), np.uint16)
    for number in range(1 << bits):
        members = np.flatnonzero(ranges == number)
        order = members[np.argsort(hashes[members], kind="stable")]
        ordered, owners = hashes[order], owner[order]
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = ordered[1:] != ordered[:-1]
        first_owner = owners[fresh][np.cumsum(fresh) - 1]
        seen[order] = owners > first_owner
    return seen
