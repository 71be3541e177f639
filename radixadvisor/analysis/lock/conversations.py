"""What the prompts of an application share from their start, conversation by conversation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from radixadvisor.analysis.applications import Application
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace
from radixadvisor.trace.build import TOKEN_BYTES

__all__ = ["OUTLIERS", "Conversation", "conversations_of", "shared_by_most"]

OUTLIERS = 0.05
"""The share of conversations that may begin otherwise: side calls, odd clients."""

_TRIES = 5


class Conversation(NamedTuple):
    """The first request of a conversation (a trace index), how many of its first tokens all requests of the
    conversation have, and the one of them that shares least with the first.
    """

    first: int
    tokens: int
    least: int


def conversations_of(trace: Trace, application: Application) -> list[Conversation]:
    """The conversations of an application in order of arrival: sessions, else requests with one first user
    turn; a prompt without turns stands alone.
    """
    members: dict[Hashable, list[int]] = {}
    for index in application.requests:
        members.setdefault(_key(trace, index), []).append(index)
    found = []
    for first, *others in members.values():
        tokens, least = trace.lengths[first], first
        for index in others:
            common = shared(trace, first, index)
            if common < tokens:
                tokens, least = common, index
        found.append(Conversation(first, tokens, least))
    return found


def _key(trace: Trace, index: int) -> Hashable:
    request = trace.requests[index]
    if request.session is not None:
        return trace.sessions[index]
    for message in request.messages or ():
        if message.role == "user":
            return message
    return trace.segments[index]


def shared(trace: Trace, one: int, other: int) -> int:
    """Tokens that two prompts of one pool share from their start."""
    import numpy as np

    pool = trace.pools[trace.pool_of[one]]
    if trace.pool_of[other] != trace.pool_of[one] or not isinstance(pool, SegmentPool):
        return 0
    left, right = trace.segments[one], trace.segments[other]
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    before = pool.length(left[:same])
    first = np.frombuffer(pool.prompt(left[same:]), np.int32)
    second = np.frombuffer(_head(pool, right[same:], len(first) * TOKEN_BYTES), np.int32)
    both = min(len(first), len(second))
    apart = np.flatnonzero(first[:both] != second[:both])
    return before + (int(apart[0]) if len(apart) else both)


def _head(pool: SegmentPool, segments: Sequence[int], size: int) -> bytes:
    """At least ``size`` bytes of a run of segments, or all of it."""
    found = b""
    for segment in segments:
        if len(found) >= size:
            break
        found += pool.tokens[segment]
    return found


def shared_by_most(trace: Trace, conversations: Sequence[Conversation]) -> tuple[int, int]:
    """The tokens that all but ``OUTLIERS`` of some conversations share from their start, and the trace index
    of one that has them.
    """
    count = len(conversations)
    best = (0, conversations[0].first)
    for number in range(0, count, max(count // _TRIES, 1)):
        one = conversations[number]
        depths = sorted(
            min(one.tokens, item.tokens, shared(trace, one.first, item.first)) for item in conversations
        )
        depth = depths[int(OUTLIERS * count)]
        if depth > best[0]:
            best = (depth, one.first)
    return best
