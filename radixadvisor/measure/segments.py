"""Unlimited matches told from segments instead of tokens: what makes re-measuring a fix cheap.

Prompts are tuples of interned segments, so most of a shared prefix is compared by number; tokens are compared
only where two prompts part, inside one segment. The result equals ``hits.matches`` as long as no segment that
others follow is the beginning of another one; template groups end with a token that closes them, so none is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

TOKEN_BYTES = 4


class Prompt(NamedTuple):
    """One request: its segments, the pool that they index, what its output leaves in the cache (packed
    int32, without the last sampled token), and what splits the cache.
    """

    segments: Sequence[int]
    pool: Sequence[bytes]
    output: bytes
    root: Hashable


class SegmentMatch(NamedTuple):
    """Tokens of a prompt that an earlier sequence begins with, and the first one that has them all (a
    position in the order given, -1 for none).
    """

    tokens: int
    partner: int


class _Node:
    """Where prompts part: continuations by segment, and the same as sorted tokens with their first owner."""

    __slots__ = ("children", "owner", "owners", "texts")

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.children: dict[int, _Node] = {}
        self.texts: list[bytes] = []
        self.owners: list[int] = []

    def closest(self, text: bytes) -> tuple[int, int]:
        """The longest common prefix with any continuation, in bytes, and who has it."""
        at = bisect_left(self.texts, text)
        best, owner = 0, self.owner
        for neighbour in (at - 1, at):
            if 0 <= neighbour < len(self.texts):
                length = common_prefix(self.texts[neighbour], text)
                if length > best:
                    best, owner = length, self.owners[neighbour]
        return best, owner

    def add(self, text: bytes, owner: int) -> None:
        at = bisect_left(self.texts, text)
        if at == len(self.texts) or self.texts[at] != text:
            self.texts.insert(at, text)
            self.owners.insert(at, owner)


def match_segments(prompts: Iterable[Prompt]) -> list[SegmentMatch]:
    """The longest common prefix of each prompt with any earlier sequence (prompt and output) of its root.

    Args:
        prompts: in order of arrival; those of one root index one pool.
    """
    roots: dict[Hashable, _Node] = {}
    found = []
    for number, (segments, pool, output, root) in enumerate(prompts):
        node = roots.get(root)
        if node is None:
            node = roots[root] = _Node(-1)
        matched, partner, parted = 0, -1, False
        parent = node
        for segment in segments:
            parent = node
            child = node.children.get(segment)
            if child is None:
                text = pool[segment]
                if not parted:
                    parted = True
                    more, partner = node.closest(text)
                    matched += more // TOKEN_BYTES * TOKEN_BYTES
                child = node.children[segment] = _Node(number)
                node.add(text, number)
            elif not parted:
                matched += len(pool[segment])
                partner = child.owner
            node = child
        if output and segments:
            parent.add(pool[segments[-1]] + output, number)
            node.add(output, number)
        found.append(SegmentMatch(matched // TOKEN_BYTES, partner if matched >= TOKEN_BYTES else -1))
    return found


def match_group(prompts: Sequence[Prompt]) -> list[int]:
    """As ``match_segments``, in tokens, for prompts of one root and one first segment alone; the first one's
    match is not known here, and given as 0.
    """
    if not prompts:
        return []
    head = len(prompts[0].pool[prompts[0].segments[0]]) // TOKEN_BYTES
    below = match_segments([prompt._replace(segments=prompt.segments[1:]) for prompt in prompts])
    return [0, *[head + match.tokens for match in below[1:]]]


def match_heads(texts: Iterable[bytes]) -> list[int]:
    """Longest common prefix, in tokens, of each text with an earlier one; texts are distinct."""
    node = _Node(-1)
    found = []
    for number, text in enumerate(texts):
        found.append(node.closest(text)[0] // TOKEN_BYTES)
        node.add(text, number)
    return found


def common_prefix(left: bytes, right: bytes) -> int:
    """Bytes that two strings begin with together."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    step = 64
    while low + step < high and left[low : low + step] == right[low : low + step]:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
