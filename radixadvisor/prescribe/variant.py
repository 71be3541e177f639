"""A log with fixes applied: only what an edit changes is rendered and tokenized again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from radixadvisor.diagnose.view import LogView
from radixadvisor.measure.segments import Prompt, match_segments
from radixadvisor.prescribe.edits import apply_edit
from radixadvisor.records import EditSpec, Message, Request, ToolSet
from radixadvisor.render.base import RenderError
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace.build import TOKEN_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Interned", "Variant", "Workshop"]


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


@dataclass(frozen=True, slots=True)
class Variant:
    """A state of the log: what differs from the log as read, by trace index, and what it then costs.

    ``matched`` and ``lengths`` are tokens per request in order of arrival; ``computed`` what an unlimited
    cache of page 1 that keeps outputs leaves to compute, the last prompt token always among it.
    """

    edits: tuple[EditSpec, ...]
    requests: dict[int, Request]
    segments: dict[int, tuple[int, ...]]
    matched: Counts
    lengths: Counts

    @property
    def served(self) -> Counts:
        """Tokens served per request."""
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
        self._outputs = [view.trace.outputs[index][:-TOKEN_BYTES] for index in view.order]
        self._roots = [view.trace.namespace(index) for index in view.order]
        self.base = Variant(
            edits=(),
            requests={},
            segments={},
            matched=np.array([view.matches[index].tokens for index in view.order], np.int64),
            lengths=np.array([view.trace.lengths[index] for index in view.order], np.int64),
        )

    def with_edit(self, variant: Variant, spec: EditSpec) -> Variant:
        """The variant with one more edit, measured anew; itself where the edit changes nothing."""
        trace = self._trace
        requests, segments = dict(variant.requests), dict(variant.segments)
        changed = False
        for cluster in spec.clusters:
            members = self.view.clusters[cluster].requests
            currents = [requests.get(index, trace.requests[index]) for index in members]
            for index, current, edited in zip(members, currents, apply_edit(currents, spec), strict=True):
                pool = trace.pools[trace.pool_of[index]]
                if edited is current or not isinstance(pool, SegmentPool):
                    continue
                edited = self._interned.request(edited, trace.requests[index])
                try:
                    segments[index] = pool.segments(edited)
                except RenderError:
                    continue
                requests[index] = edited
                changed = True
        if not changed:
            return replace(variant, edits=(*variant.edits, spec))
        matched, lengths = self._measure(segments)
        return Variant((*variant.edits, spec), requests, segments, matched, lengths)

    def with_edits(self, variant: Variant, specs: Iterable[EditSpec]) -> Variant:
        """The variant with several more edits, in their order."""
        for spec in specs:
            variant = self.with_edit(variant, spec)
        return variant

    def _measure(self, changed: dict[int, tuple[int, ...]]) -> tuple[Counts, Counts]:
        import numpy as np

        trace = self._trace
        prompts, lengths = [], []
        for position, index in enumerate(trace.order):
            pool = trace.pools[trace.pool_of[index]]
            segments = changed.get(index)
            lengths.append(trace.lengths[index] if segments is None else pool.length(segments))
            prompts.append(
                Prompt(
                    trace.segments[index] if segments is None else segments,
                    pool.tokens if isinstance(pool, SegmentPool) else (),
                    self._outputs[position],
                    self._roots[position],
                )
            )
        matched = np.array([match.tokens for match in match_segments(prompts)], np.int64)
        return matched, np.array(lengths, np.int64)
