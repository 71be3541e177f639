"""A trace as the columns that a simulation reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from radixadvisor.records import CacheControl
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.requests import Requests
from radixadvisor.trace import Trace
from radixadvisor.trace.content_blocks import BlockEnd, ContentBlocks


class Prompts(Sequence[bytes]):
    """Packed prompts in input order, put together when they are asked for."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __len__(self) -> int:
        return len(self._trace.requests)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self._trace.prompt(number) for number in range(*index.indices(len(self)))]
        return self._trace.prompt(index)

    def __iter__(self) -> Iterator[bytes]:
        return map(self._trace.prompt, range(len(self)))


def requests_of(trace: Trace, hosted: HostedProfile | None = None) -> Requests:
    """A trace as the columns of a simulation, in input order; content blocks and breakpoints only for a
    hosted API that caches at them.
    """
    requests = trace.requests
    latencies = [request.latency for request in requests]
    replicas = [request.replica for request in requests]
    known = sorted({replica for replica in replicas if replica is not None})
    keys = [request.parameters.get("prompt_cache_key", "") for request in requests]
    blocks: list[tuple[BlockEnd, ...]] | None = None
    if hosted is not None and hosted.kind == "breakpoints":
        found = ContentBlocks(trace)
        blocks = [found.of(index) for index in range(len(requests))]
    return Requests(
        prompts=Prompts(trace),
        outputs=trace.outputs,
        output_lengths=trace.output_lengths,
        lengths=trace.lengths,
        arrivals=[request.arrival or 0.0 for request in requests] if trace.timed else None,
        latencies=[latency or 0.0 for latency in latencies] if None not in latencies else None,
        namespaces=[trace.namespace(index) for index in range(len(requests))],
        priorities=[request.priority for request in requests],
        sessions=trace.sessions if trace.named_sessions else None,
        replicas=[known.index(name) for name in replicas if name is not None]
        if None not in replicas
        else None,
        keys=keys if any(keys) else None,
        models=[request.model for request in requests],
        breakpoints=None if blocks is None or hosted is None else [_marks(ends, hosted) for ends in blocks],
        blocks=None if blocks is None else [[end.tokens for end in ends] for ends in blocks],
        unit=trace.unit,
    )


def _marks(ends: Sequence[BlockEnd], hosted: HostedProfile) -> list[tuple[int, float | None]]:
    return [(end.tokens, _seconds(end.mark, hosted)) for end in ends if end.mark is not None]


def _seconds(mark: CacheControl, hosted: HostedProfile) -> float | None:
    """The lifetime that a client named; None leaves it to the provider, also where the name is none of its
    own.
    """
    return None if mark.ttl is None else hosted.lifetimes.get(mark.ttl)
