"""Who left the longest prefix that a request could reuse, told from the walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from radixadvisor.measure.walks import Walks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["partners"]


def partners(walks: Walks, groups: Sequence[int] | None = None) -> Counts:
    """For each request the latest earlier one that touched the deepest part of its prompt that was touched
    before, as a position in order of arrival; -1 where nothing was.

    Args:
        walks: the paths of all sequences.
        groups: only requests of the same number share; None: all do.
    """
    import numpy as np

    keys = walks.edges
    if groups is not None:
        group = np.asarray(groups, np.int64)
        keys = keys * (int(group.max(initial=0)) + 1) + group[walks.owners]
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    before = np.full(len(keys), -1, np.int64)
    before[order[1:][same]] = walks.owners[order[:-1][same]]
    known = np.flatnonzero(walks.in_prompt & (before >= 0))
    owners = walks.owners[known]
    # Touches stand root first: the last known one of a request is its deepest.
    last = np.ones(len(known), np.bool_)
    last[:-1] = owners[1:] != owners[:-1]
    found = np.full(len(walks), -1, np.int64)
    found[owners[last]] = before[known[last]]
    return found
