"""Prompts in the ids of a model that was not made for them, with the prefix tree they had."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Protocol

from xxhash import xxh3_64_intdigest

from radixadvisor.errors import UsageError
from radixadvisor.simulate.requests import TOKEN_BYTES
from radixadvisor.trace import Trace

__all__ = ["Ids", "PrefixIds", "SameIds", "ids_for"]

_ANY_ID = 2**31 - 1


class Ids(Protocol):
    """How the tokens of a log become a model's."""

    def encode(self, packed: bytes) -> bytes:
        """Packed int32 ids of packed int32 tokens."""


class SameIds:
    """The log's tokens as they are."""

    def encode(self, packed: bytes) -> bytes:
        """The tokens themselves."""
        return packed


class PrefixIds:
    """Writes each chunk of ``scale`` tokens as one id below ``vocab``; a last, shorter chunk is one too.

    An id follows from the chunk and from everything before it. Two sequences share their first n ids exactly
    if they share the tokens of their first n chunks: an id that a sibling already has is passed over for the
    next free one, so that no two of them fall together. What depends on it is only which ids come out; the
    same sequences in the same order give the same ids.
    """

    def __init__(self, scale: int, vocab: int) -> None:
        self.scale = scale
        self._vocab = vocab
        self._below: dict[tuple[int, bytes], int] = {}
        self._taken: dict[tuple[int, int], int] = {}
        self._ids = array("i", [0])
        self._hashes = [0]

    def encode(self, packed: bytes) -> bytes:
        """Packed int32 ids of packed int32 tokens.

        Raises:
            UsageError: more sequences part at one place than the vocabulary has ids.
        """
        size = self.scale * TOKEN_BYTES
        below, ids, node = self._below, self._ids, 0
        out = array("i")
        for start in range(0, len(packed), size):
            chunk = packed[start : start + size]
            following = below.get((node, chunk))
            node = self._branch(node, chunk) if following is None else following
            out.append(ids[node])
        return out.tobytes()

    def _branch(self, parent: int, chunk: bytes) -> int:
        digest = xxh3_64_intdigest(chunk, self._hashes[parent])
        number = digest % self._vocab
        for _ in range(self._vocab):
            if (parent, number) not in self._taken:
                break
            number = (number + 1) % self._vocab
        else:
            raise UsageError(
                f"More prompts part at one place than the model's {self._vocab} ids can tell apart: "
                "take fewer with --limit, or a model with a larger vocabulary."
            )
        node = len(self._ids)
        self._ids.append(number)
        self._hashes.append(digest)
        self._taken[parent, number] = node
        self._below[parent, chunk] = node
        return node


def ids_for(trace: Trace, chosen: Iterable[int], scale: int, vocab: int | None) -> Ids:
    """The log's own tokens where the model can take them, else ids that keep the tree.

    Args:
        trace: a hash trace has no tokens of its own: its blocks are filled with ids.
        chosen: indices of the requests to replay.
        scale: tokens that become one id.
        vocab: ids that the model knows; None for a model that takes any.
    """
    if scale == 1 and trace.unit == 1 and (vocab is None or _largest(trace, chosen) < vocab):
        return SameIds()
    return PrefixIds(scale, vocab or _ANY_ID)


def _largest(trace: Trace, chosen: Iterable[int]) -> int:
    import numpy as np

    prompts = (np.frombuffer(trace.prompt(index), np.int32) for index in chosen)
    return max((int(prompt.max()) for prompt in prompts if len(prompt)), default=0)
