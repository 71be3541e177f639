"""How much of a log an unlimited prefix cache serves: one walk of the radix tree per request.

Everything here takes packed int32 prompts in the order of arrival, and returns counts in tokens. With an
unlimited cache, served one request at a time, a page size P and the rule that one prompt token is always
computed, a prompt of n tokens is served ``floor_P(min(L, n - 1))`` tokens, where L is its longest common
prefix with anything cached earlier: flooring commutes with the maximum, so one walk at page 1 answers for
every page size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixengine.cache import TOKEN_BYTES
from radixengine.tree import RadixTree

from radixadvisor.measure.paths import Paths, touched_paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

_NOBODY, _MANY = -2, -1


@dataclass(frozen=True, slots=True)
class Unlimited:
    """Prompts alone in an unlimited cache, unit page, no length cap.

    ``matched[i]`` is request i's longest common prefix with any earlier prompt; ``same_session`` and
    ``other_session`` are the same against the prompts of its own session, and of all others. ``unique`` is
    the size of the tree: the sum of lengths minus the sum of ``matched``. ``paths`` are the prompts' ways
    through the finished ``tree``. All counts are positions of the prompts as given.
    """

    matched: Counts
    same_session: Counts
    other_session: Counts
    unique: int
    tree: RadixTree
    paths: Paths


def unlimited(
    prompts: Iterable[bytes],
    sessions: Sequence[int],
    vocabularies: Sequence[str] | None = None,
    *,
    unit: int = 1,
    lengths: Sequence[int] | None = None,
) -> Unlimited:
    """Measure prompts in an unlimited cache.

    Args:
        prompts: packed int32 positions in order of arrival; iterated over twice.
        sessions: a number from 0 for each prompt; equal numbers are one session.
        vocabularies: a name for each prompt; prompts of different vocabularies never share. None: all share.
        unit: tokens per position.
        lengths: tokens of each prompt if the last position may be short; handed on to ``paths``.
    """
    import numpy as np

    tree = RadixTree()
    matched = np.zeros(len(sessions), np.int64)
    for index, prompt in enumerate(prompts):
        matched[index] = tree.match_insert(prompt, vocabularies[index] if vocabularies is not None else "")
    paths = touched_paths(prompts, tree=tree, namespaces=vocabularies, unit=unit, lengths=lengths)
    same, other = _by_session(paths, sessions)
    return Unlimited(matched, same, other, tree.tokens, tree, paths)


def _by_session(paths: Paths, sessions: Sequence[int]) -> tuple[Counts, Counts]:
    """Positions of each request that its own session, and that any other session, passed before.

    An edge remembers one session, and a set of them from the second on.
    """
    import numpy as np

    same, other = np.zeros(len(sessions), np.int64), np.zeros(len(sessions), np.int64)
    only = [_NOBODY] * len(paths.sizes)
    many: dict[int, set[int]] = {}
    for index, session in enumerate(sessions):
        mine = others = None
        for edge in paths.edges[paths.starts[index] : paths.starts[index + 1]]:
            seen = only[edge]
            if seen == session:
                mine = edge
            elif seen == _MANY:
                others = edge
                if session in many[edge]:
                    mine = edge
                else:
                    many[edge].add(session)
            elif seen == _NOBODY:
                only[edge] = session
            else:
                others = edge
                only[edge] = _MANY
                many[edge] = {seen, session}
        if mine is not None:
            same[index] = paths.depths[mine] + paths.sizes[mine]
        if others is not None:
            other[index] = paths.depths[others] + paths.sizes[others]
    return same, other


def reusable(sequences: Iterable[bytes], namespaces: Sequence[str]) -> Counts:
    """Longest common prefix of each sequence (prompt, then what its output leaves in the cache) with earlier
    ones.

    Args:
        sequences: packed int32 prompt + output without its last token, which never has KV.
        namespaces: prompts of different namespaces never share.
    """
    import numpy as np

    tree = RadixTree()
    matched = np.zeros(len(namespaces), np.int64)
    for index, sequence in enumerate(sequences):
        matched[index] = tree.match_insert(sequence, namespaces[index])
    return matched


def reusable_partial(sequences: Iterable[bytes], namespaces: Sequence[str], page: int) -> Counts:
    """As ``reusable`` for a cache that stores whole pages but may reuse part of one (TensorRT-LLM's partial
    reuse).

    A prompt can match beyond the last whole page of an earlier one, but never more than what that one stored.
    """
    import numpy as np

    tree = RadixTree()
    unit = page * TOKEN_BYTES
    matched = np.zeros(len(namespaces), np.int64)
    for index, sequence in enumerate(sequences):
        tree_limit = len(sequence) // unit * unit
        found, _ = tree.peek(sequence, namespace=namespaces[index])
        matched[index] = found
        tree.match_insert(sequence[:tree_limit], namespaces[index])
    return matched


def served(matched: Counts, lengths: Counts, page: int) -> Counts:
    """Tokens served at a page size, the last prompt token always computed: ``floor_P(min(L, n - 1))``."""
    import numpy as np

    found: Counts = np.maximum(np.minimum(matched, lengths - 1), 0) // page * page
    return found
