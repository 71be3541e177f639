"""A log with fixes applied: only what an edit changes is rendered and tokenized again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from radixadvisor.diagnose.view import LogView
from radixadvisor.measure.segments import Prompt, match_group, match_heads, match_segments
from radixadvisor.prescribe.edits import LOG_EDITS, apply_edit
from radixadvisor.records import EditSpec, Message, Request, ToolSet
from radixadvisor.render.base import RenderError
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace.build import TOKEN_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Group", "Interned", "Variant", "Workshop"]


class Interned:
    """One object for equal messages and tool lists that edits make, so that equal edits share a segment."""

    def __init__(self) -> None:
        self._messages: dict[Hashable, Message] = {}
        self._tools: dict[Hashable, ToolSet] = {}

    def request(self, edited: Request, original: Request) -> Request:
        """The edited request, with objects of its original or of earlier edits wherever they are equal."""
        kept = {id(message) for message in original.messages or ()}
        messages = tuple(
            message if id(message) in kept else self._message(message) for message in edited.messages or ()
        )
        tools = edited.tools
        if tools is not None and tools is not original.tools:
            key = tuple([(tool.name, tool.raw, tool.cache_control) for tool in tools.tools])
            tools = self._tools.setdefault(key, tools)
        return replace(edited, messages=messages, tools=tools)

    def _message(self, message: Message) -> Message:
        key = (
            *(message.role, message.content, message.tool_calls),
            *(message.tool_call_id, message.name, message.reasoning),
        )
        return self._messages.setdefault(key, message)


Group = tuple[Hashable, int]
"""What must be equal for two prompts to share more than the beginning of their first segment."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A state of the log: what differs from the log as read, by trace index, and what it then costs.

    ``matched`` and ``lengths`` are tokens per request in order of arrival. ``groups`` holds the positions of
    the requests that share a first segment, ascending.
    """

    edits: tuple[EditSpec, ...]
    requests: dict[int, Request]
    segments: dict[int, tuple[int, ...]]
    groups: dict[Group, tuple[int, ...]]
    matched: Counts
    lengths: Counts

    @property
    def served(self) -> Counts:
        """Tokens that an unlimited cache of page 1 that keeps outputs serves, per request; the last prompt
        token is always computed.
        """
        import numpy as np

        served: Counts = np.maximum(np.minimum(self.matched, self.lengths - 1), 0)
        return served

    @property
    def computed(self) -> Counts:
        """Tokens computed per request."""
        computed: Counts = self.lengths - self.served
        return computed


class Workshop:
    """Applies edits to a log and measures what comes out."""

    def __init__(self, view: LogView) -> None:
        import numpy as np

        self.view = view
        self._trace = view.trace
        self._interned = Interned()
        self._done: dict[EditSpec, dict[Request, Request]] = {}
        self._position = {index: position for position, index in enumerate(view.order)}
        self._outputs = [view.trace.outputs[index][:-TOKEN_BYTES] for index in view.order]
        self._roots = [view.trace.namespace(index) for index in view.order]
        groups: dict[Group, list[int]] = {}
        for position, index in enumerate(view.order):
            groups.setdefault(self._group(position, view.trace.segments[index]), []).append(position)
        self.base = Variant(
            edits=(),
            requests={},
            segments={},
            groups={group: tuple(members) for group, members in groups.items()},
            matched=np.array([view.matches[index].tokens for index in view.order], np.int64),
            lengths=np.array([view.trace.lengths[index] for index in view.order], np.int64),
        )
        self._whole = any(len(view.trace.segments[index]) < 2 for index in view.order)

    def with_edit(self, variant: Variant, spec: EditSpec) -> Variant:
        """The variant with one more edit, measured anew; itself where the edit changes nothing."""
        trace = self._trace
        requests, segments = dict(variant.requests), dict(variant.segments)
        moved: list[int] = []
        for members in self._members(spec):
            currents = [requests.get(index, trace.requests[index]) for index in members]
            for index, current, edited in zip(members, currents, self._edit(currents, spec), strict=True):
                pool = trace.pools[trace.pool_of[index]]
                if edited is current or not isinstance(pool, SegmentPool):
                    continue
                try:
                    segments[index] = pool.segments(edited)
                except RenderError:
                    continue
                requests[index] = edited
                moved.append(self._position[index])
        if not moved:
            return replace(variant, edits=(*variant.edits, spec))
        return self._measured(
            replace(variant, edits=(*variant.edits, spec), requests=requests, segments=segments),
            variant,
            sorted(moved),
        )

    def _members(self, spec: EditSpec) -> Iterator[Sequence[int]]:
        """The requests that an edit sees together: an application's, or of all if one refers to another."""
        groups = [self.view.clusters[cluster].requests for cluster in spec.clusters]
        if spec.kind in LOG_EDITS and len(groups) > 1:
            yield sorted([index for group in groups for index in group], key=self._position.__getitem__)
        else:
            yield from groups

    def _edit(self, requests: Sequence[Request], spec: EditSpec) -> list[Request]:
        """Requests with an edit, interned; an edit of single requests is done once for each."""
        if spec.kind in LOG_EDITS:
            edited = apply_edit(requests, spec)
            pairs = zip(requests, edited, strict=True)
            return [old if new is old else self._interned.request(new, old) for old, new in pairs]
        known = self._done.setdefault(spec, {})
        fresh = [request for request in requests if request not in known]
        for old, new in zip(fresh, apply_edit(fresh, spec), strict=True):
            known[old] = old if new is old else self._interned.request(new, old)
        return [known[request] for request in requests]

    def with_edits(self, variant: Variant, specs: Iterable[EditSpec]) -> Variant:
        """The variant with several more edits, in their order."""
        for spec in specs:
            variant = self.with_edit(variant, spec)
        return variant

    def _measured(self, variant: Variant, before: Variant, moved: Sequence[int]) -> Variant:
        """Measure the groups that ``moved`` positions left or joined; the rest cannot have changed, but for
        where a first segment is new.
        """
        lengths, matched = before.lengths.copy(), before.matched.copy()
        for position in moved:
            index = self.view.order[position]
            pool = self._trace.pools[self._trace.pool_of[index]]
            lengths[position] = pool.length(variant.segments[index])
        if self._whole:
            prompts = [self._prompt(variant, position) for position in range(len(lengths))]
            matched[:] = [match.tokens for match in match_segments(prompts)]
            return replace(variant, matched=matched, lengths=lengths)
        groups = dict(before.groups)
        leaving: dict[Group, set[int]] = {}
        joining: dict[Group, set[int]] = {}
        for position in moved:
            leaving.setdefault(self._group(position, self._segments(before, position)), set()).add(position)
            joining.setdefault(self._group(position, self._segments(variant, position)), set()).add(position)
        for group in sorted(leaving.keys() | joining.keys(), key=str):
            members = set(groups.get(group, ())) - leaving.get(group, set()) | joining.get(group, set())
            groups[group] = tuple(sorted(members))
            if members:
                found = match_group([self._prompt(variant, position) for position in groups[group]])
                matched[list(groups[group])] = found
            else:
                del groups[group]
        for root in {root for root, _ in leaving}:
            heads = sorted(members[0] for (found, _), members in groups.items() if found == root)
            texts = [prompt.pool[prompt.segments[0]] for prompt in map(partial(self._prompt, variant), heads)]
            matched[heads] = match_heads(texts)
        return replace(variant, groups=groups, matched=matched, lengths=lengths)

    def _group(self, position: int, segments: Sequence[int]) -> Group:
        return self._roots[position], segments[0] if segments else -1

    def _segments(self, variant: Variant, position: int) -> tuple[int, ...]:
        index = self.view.order[position]
        return variant.segments.get(index) or self._trace.segments[index]

    def _prompt(self, variant: Variant, position: int) -> Prompt:
        trace = self._trace
        pool = trace.pools[trace.pool_of[self.view.order[position]]]
        tokens = pool.tokens if isinstance(pool, SegmentPool) else ()
        return Prompt(
            self._segments(variant, position), tokens, self._outputs[position], self._roots[position]
        )
