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
from radixengine.tree import Node, RadixTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

_MANY = -1


@dataclass(frozen=True, slots=True)
class Unlimited:
    """Prompts alone in an unlimited cache, unit page, no length cap.

    ``matched[i]`` is request i's longest common prefix with any earlier prompt; ``same_session`` and
    ``other_session`` are the same against the prompts of its own session, and of all others (a request
    without a session is a session of its own). ``unique_tokens`` is the size of the tree: sum of lengths
    minus sum of ``matched``.
    """

    matched: Counts
    same_session: Counts
    other_session: Counts
    unique_tokens: int
    tree: RadixTree


class _Visitors:
    """Which sessions have passed through each node of a tree, kept as one number until a second session
    comes.
    """

    def __init__(self) -> None:
        self._session: dict[Node, int] = {}
        self._sessions: dict[Node, set[int]] = {}

    def visit(self, root: Node, key: bytes, session: int, unit: int) -> tuple[int, int]:
        """Record a passage; bytes of ``key`` that the same session, and that any other session, passed
        before.
        """
        only, many = self._session, self._sessions
        node, pos, same, other, end = root, 0, 0, 0, len(key)
        while pos < end:
            node = node.children[key[pos : pos + unit]]
            pos += len(node.edge)
            seen = only.get(node)
            if seen is None:
                seen = self._inherit(node)
            if seen is None:
                only[node] = session
            elif seen == _MANY:
                visitors = many[node]
                other = pos
                if session in visitors:
                    same = pos
                else:
                    visitors.add(session)
            elif seen == session:
                same = pos
            else:
                other = pos
                only[node] = _MANY
                many[node] = {seen, session}
        return same, other

    def _inherit(self, node: Node) -> int | None:
        """An upper half that a split has just made was passed by whoever passed its lower half."""
        for child in node.children.values():
            seen = self._session.get(child)
            if seen is not None:
                self._session[node] = seen
                if seen == _MANY:
                    self._sessions[node] = set(self._sessions[child])
                return seen
        return None


def unlimited(
    prompts: Iterable[bytes], sessions: Sequence[int], vocabularies: Sequence[str] | None = None
) -> Unlimited:
    """Measure prompts in an unlimited cache.

    Args:
        prompts: packed int32 tokens, in order of arrival.
        sessions: a number for each prompt; equal numbers are one session.
        vocabularies: a name for each prompt; prompts of different vocabularies never share. None: all share.
    """
    import numpy as np

    tree = RadixTree()
    visitors = _Visitors()
    count = len(sessions)
    matched, same, other = (np.zeros(count, np.int64) for _ in range(3))
    total = 0
    for index, prompt in enumerate(prompts):
        namespace = vocabularies[index] if vocabularies is not None else ""
        matched[index] = tree.match_insert(prompt, namespace)
        seen = visitors.visit(tree.root(namespace), prompt, sessions[index], tree.unit)
        same[index], other[index] = seen[0] // TOKEN_BYTES, seen[1] // TOKEN_BYTES
        total += len(prompt) // TOKEN_BYTES
    return Unlimited(matched, same, other, total - int(matched.sum()), tree)


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
    """Tokens served at a page size when the last prompt token is always computed: ``floor_P(min(L, n - 1))``."""
    import numpy as np

    return np.maximum(np.minimum(matched, lengths - 1), 0) // page * page
