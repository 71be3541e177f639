"""Traces with changes in them: text fixes applied, or a parameter held constant."""

from __future__ import annotations

from dataclasses import replace

from radixadvisor.diagnose.ra5xx.parameters import continued, value_of
from radixadvisor.prescribe.variant import Variant
from radixadvisor.records import Request
from radixadvisor.render.base import RenderError
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace

__all__ = ["fixed_trace", "held_trace"]


def fixed_trace(trace: Trace, variant: Variant) -> Trace:
    """The trace with the edits of a variant in it."""
    if not variant.requests:
        return trace
    requests, segments, lengths = list(trace.requests), list(trace.segments), list(trace.lengths)
    for index, request in variant.requests.items():
        requests[index], segments[index] = request, variant.segments[index]
        lengths[index] = trace.pools[trace.pool_of[index]].length(segments[index])
    return replace(trace, requests=requests, segments=segments, lengths=lengths)


def held_trace(trace: Trace, name: str) -> Trace:
    """The trace with a parameter (or the model) at the value that each conversation began with, rendered and
    tokenized anew. A conversation is a request with those that carry its messages on.
    """
    before = continued(trace)
    first: dict[int, int] = {}
    pools = {request.model: pool for request, pool in zip(trace.requests, trace.pool_of, strict=True)}
    requests, segments = list(trace.requests), list(trace.segments)
    lengths, pool_of, outputs = list(trace.lengths), list(trace.pool_of), list(trace.outputs)
    for index in trace.order:
        parent = before.get(index)
        first[index] = index if parent is None else first[parent]
        request = trace.requests[index]
        value = value_of(trace.requests[first[index]], name)
        if value_of(request, name) == value:
            continue
        held = _with_value(request, name, value)
        number = pools[held.model]
        pool = trace.pools[number]
        if not isinstance(pool, SegmentPool):
            continue
        try:
            segments[index] = pool.segments(held)
        except RenderError:
            continue
        requests[index], pool_of[index] = held, number
        lengths[index] = pool.length(segments[index])
        reply = None if request.output is None else request.output.message
        if number != trace.pool_of[index]:
            stopped = request.output is None or request.output.stopped
            outputs[index] = (
                pool.output(held, segments[index][-1], reply, stopped=stopped) if reply is not None else b""
            )
    return replace(
        trace, requests=requests, segments=segments, lengths=lengths, pool_of=pool_of, outputs=outputs
    )


def _with_value(request: Request, name: str, value: str | None) -> Request:
    if name == "model":
        return replace(request, model=value or "")
    parameters = {key: raw for key, raw in request.parameters.items() if key != name}
    if value is not None:
        parameters[name] = value
    return replace(request, parameters=parameters)
