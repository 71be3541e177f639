"""Where the content blocks of a prompt end, in tokens, and which carry an explicit cache breakpoint."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import NamedTuple

from radixadvisor.records import CacheControl, Request
from radixadvisor.render.base import Group
from radixadvisor.tokens.base import encode_prompt_text
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace.build import TOKEN_BYTES, Trace

_PLACE = re.compile(r"(messages|tools)\[(\d+)\](?:\.content\[(\d+)\])?")


class BlockEnd(NamedTuple):
    """The end of a content block: prompt tokens before it, its breakpoint if it has one, and what it belongs
    to: ``tools`` or the role of its message.
    """

    tokens: int
    mark: CacheControl | None
    role: str = ""


class ContentBlocks:
    """Block ends of the requests of a trace; each distinct group of messages is looked at once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, Hashable], tuple[BlockEnd, ...]] = {}

    def of(self, index: int) -> tuple[BlockEnd, ...]:
        """The block ends of a request's prompt, ascending: tools, parts of a content, whole contents, tool
        calls.

        A prompt without messages is one block without a breakpoint.
        """
        trace = self._trace
        request = trace.requests[index]
        pool = trace.pools[trace.pool_of[index]]
        if request.messages is None or not isinstance(pool, SegmentPool):
            return (BlockEnd(trace.lengths[index], None),)
        found = []
        before = 0
        for group in pool.renderer.groups(request):
            key = (trace.pool_of[index], group.key)
            ends = self._known.get(key)
            if ends is None:
                ends = self._known[key] = _block_ends(pool, request, group)
            found += [BlockEnd(before + end.tokens, end.mark, end.role) for end in ends[:-1]]
            before += ends[-1].tokens
        return tuple(found)


def _block_ends(pool: SegmentPool, request: Request, group: Group) -> tuple[BlockEnd, ...]:
    """Ends inside one group, then the group's own end without a mark."""
    text = ""
    places: dict[tuple[str, str, str | None], int] = {}
    for piece in pool.renderer.pieces(request, group):
        text += piece.text
        match = _PLACE.match(piece.origin.path) if piece.origin is not None else None
        if match is not None:
            places[match[1], match[2], match[3]] = len(text)
    ends = [
        BlockEnd(
            _tokens(pool, text[:position]),
            _mark(request, field, int(number), part),
            _role(request, field, int(number)),
        )
        for (field, number, part), position in places.items()
    ]
    return (*sorted(ends, key=lambda end: end.tokens), BlockEnd(_tokens(pool, text), None))


def _tokens(pool: SegmentPool, text: str) -> int:
    return len(encode_prompt_text(pool.tokenizer, text)) // TOKEN_BYTES


def _role(request: Request, field: str, number: int) -> str:
    if field == "tools" or request.messages is None:
        return field
    return request.messages[number].role


def _mark(request: Request, field: str, number: int, part: str | None) -> CacheControl | None:
    if field == "tools":
        return request.tools.tools[number].cache_control if request.tools is not None else None
    content = request.messages[number].content if request.messages is not None else None
    if content is None or isinstance(content, str):
        return None
    return content[int(part)].cache_control if part is not None else None
