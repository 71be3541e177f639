"""How much of a log an unlimited prefix cache serves, told from the walks of its sequences.

All results are positions per request, in order of arrival. With an unlimited cache, served one request at a
time, a page size P and the rule that one prompt token is always computed, a prompt of n tokens is served
``floor_P(min(L, n - 1))`` tokens, where L is its longest common prefix with anything cached earlier: flooring
commutes with the maximum, so one walk at page 1 answers for every page size.

``groups`` splits the cache by a number per request (namespace, replica): only requests of the same group
share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from radixadvisor.measure.walks import Walks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Times = NDArray[np.float64]


def prompt_matches(walks: Walks, groups: Sequence[int] | None = None) -> Counts:
    """Longest common prefix of each prompt with any earlier *prompt* of its group: outputs do not count."""
    return _lengths(walks, _repeated(_keys(walks, groups)[walks.in_prompt]))


def matches(walks: Walks, groups: Sequence[int] | None = None) -> Counts:
    """Longest common prefix of each prompt with any earlier sequence of its group, outputs included."""
    return _lengths(walks, _repeated(_keys(walks, groups))[walks.in_prompt])


def session_matches(walks: Walks, sessions: Sequence[int]) -> tuple[Counts, Counts]:
    """Longest common prefix of each prompt with earlier prompts of its own session, and of all other
    sessions.
    """
    import numpy as np

    edges, owners = walks.edges[walks.in_prompt], walks.owners[walks.in_prompt]
    session = np.asarray(sessions, np.int64)[owners]
    own = _repeated(edges * (int(session.max(initial=0)) + 1) + session)
    first = session[_first_of_each(edges)]
    # Another session was there before if the first one was another, or if a second one has come since.
    foreign = np.flatnonzero(session != first)
    second = np.full(len(walks.sizes), len(walks), np.int64)
    np.minimum.at(second, edges[foreign], owners[foreign])
    other = np.where(session != first, True, second[edges] < owners)
    return _lengths(walks, own), _lengths(walks, other)


def visible_matches(
    walks: Walks, arrivals: Times, first_tokens: Times, ends: Times, groups: Sequence[int] | None = None
) -> Counts:
    """As ``matches``, counting only KV that was there when the request arrived.

    Args:
        arrivals: seconds, ascending.
        first_tokens: when each request's prompt has KV.
        ends: when its output has.
    """
    import numpy as np

    published = np.where(walks.in_prompt, first_tokens[walks.owners], ends[walks.owners])
    moments, ranks = np.unique(published, return_inverse=True)
    earliest = _best_before(_keys(walks, groups), -ranks.astype(np.int64), len(moments))
    # A rank is visible if its moment is not after the arrival; no earlier toucher at all has no rank.
    limit = np.searchsorted(moments, arrivals, side="right")[walks.owners]
    known = (earliest > -len(moments)) & (-earliest < limit)
    return _lengths(walks, known[walks.in_prompt])


def served(matched: Counts, lengths: Counts, page: int) -> Counts:
    """Tokens served at a page size, the last prompt token always computed: ``floor_P(min(L, n - 1))``."""
    import numpy as np

    found: Counts = np.maximum(np.minimum(matched, lengths - 1), 0) // page * page
    return found


def _keys(walks: Walks, groups: Sequence[int] | None) -> Counts:
    """One number for each touch: equal ones touch the same edge in the same group."""
    import numpy as np

    if groups is None:
        return walks.edges
    group = np.asarray(groups, np.int64)
    keys: Counts = walks.edges * (int(group.max(initial=0)) + 1) + group[walks.owners]
    return keys


def _lengths(walks: Walks, known: Flags) -> Counts:
    """Positions of the known edges of each prompt; they are its first ones, since touching one touches all
    above.
    """
    import numpy as np

    edges, owners = walks.edges[walks.in_prompt], walks.owners[walks.in_prompt]
    sums: Any = np.bincount(owners, weights=walks.sizes[edges] * known, minlength=len(walks))
    return np.asarray(sums, np.int64)


def _first_of_each(keys: Counts) -> Counts:
    """For each key the index of its first occurrence."""
    import numpy as np

    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    found: Counts = first[inverse]
    return found


def _repeated(keys: Counts) -> Flags:
    """Whether a key occurred before; a sequence touches an edge once, so that was an earlier sequence."""
    import numpy as np

    flags: Flags = _first_of_each(keys) < np.arange(len(keys))
    return flags


def _best_before(keys: Counts, values: Counts, span: int) -> Counts:
    """For each touch the largest value that an earlier touch of the same key has, ``-span`` if there is none.

    Values lie between ``-span`` (excluded) and ``span``. Ordered by key, a running maximum over values raised
    by more than the span from key to key is a running maximum within each key.
    """
    import numpy as np

    order = np.argsort(keys, kind="stable")
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = keys[order][1:] != keys[order][:-1]
    offsets = np.cumsum(begins) * (2 * span + 1)
    running = np.maximum.accumulate(values[order] + offsets)
    before = np.full(len(keys), -span, np.int64)
    before[1:] = np.where(begins[1:], -span, running[:-1] - offsets[1:])
    found = np.empty_like(before)
    found[order] = before
    return found
