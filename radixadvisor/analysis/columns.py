"""A trace as the columns that a simulation reads."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import overload

from radixadvisor.records import CacheControl
from radixadvisor.simulate.bypass import bypass_of
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.profiles import engines
from radixadvisor.simulate.requests import TOKEN_BYTES, Requests
from radixadvisor.trace import Trace
from radixadvisor.trace.content_blocks import BlockEnd, ContentBlocks

_APART = 1 << 20
_DEFAULTS = ('"auto"', '{"type":"auto"}', "null")
_HEAD = ("tools", "system", "developer")


class Prompts(Sequence[bytes]):
    """Packed prompts in input order, put together when they are asked for.

    ``keyed`` names for some requests the token from where on they share only with requests of the same
    number: tokens there are moved out of the vocabulary, each number to a range of its own.
    """

    def __init__(self, trace: Trace, keyed: Mapping[int, tuple[int, int]] | None = None) -> None:
        self._trace = trace
        self._keyed = keyed or {}

    def __len__(self) -> int:
        return len(self._trace.requests)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self._prompt(number) for number in range(*index.indices(len(self)))]
        return self._prompt(index)

    def __iter__(self) -> Iterator[bytes]:
        return map(self._prompt, range(len(self)))

    def _prompt(self, index: int) -> bytes:
        prompt = self._trace.prompt(index)
        place = self._keyed.get(index)
        if place is None:
            return prompt
        start, number = place[0] * TOKEN_BYTES, place[1]
        tail = array("i", prompt[start:])
        return prompt[:start] + array("i", [token + number * _APART for token in tail]).tobytes()


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
    features = sorted({name for profile in engines().values() for name in profile.bypass})
    keyed = {} if hosted is None or blocks is None else _keyed(trace, blocks, hosted)
    return Requests(
        prompts=Prompts(trace, keyed),
        outputs=trace.outputs,
        output_lengths=trace.output_lengths,
        lengths=trace.lengths,
        arrivals=[request.arrival or 0.0 for request in requests] if trace.timed else None,
        latencies=[latency or 0.0 for latency in latencies] if None not in latencies else None,
        namespaces=[namespace_of(trace, index, hosted) for index in range(len(requests))],
        priorities=[request.priority for request in requests],
        sessions=trace.sessions if trace.named_sessions else None,
        replicas=[known.index(name) for name in replicas if name is not None]
        if None not in replicas
        else None,
        keys=keys if any(keys) else None,
        models=[request.model for request in requests],
        breakpoints=None if blocks is None or hosted is None else [_marks(ends, hosted) for ends in blocks],
        blocks=None if blocks is None else [[end.tokens for end in ends] for ends in blocks],
        features=[bypass_of(request, features) for request in requests] if features else None,
        unit=trace.unit,
    )


def namespace_of(trace: Trace, index: int, hosted: HostedProfile | None) -> str:
    """What splits the cache for a request: also the parameters that a hosted API has in front of a prompt."""
    space = trace.namespace(index)
    parameters = trace.requests[index].parameters
    if hosted is None or not parameters:
        return space
    told = [(name, _told(parameters.get(name))) for name in hosted.keys_all]
    return space + "".join(f"|{name}={value}" for name, value in told if value is not None)


def _told(value: str | None) -> str | None:
    """A parameter's value; None also where it says what holds anyway."""
    return None if value is None or "".join(value.split()) in _DEFAULTS else value


def _keyed(
    trace: Trace, blocks: Sequence[Sequence[BlockEnd]], hosted: HostedProfile
) -> dict[int, tuple[int, int]]:
    """The end of the system prompt and a number, for requests with parameters that are part of what stands
    behind it.
    """
    numbers: dict[tuple[str | None, ...], int] = {}
    found = {}
    for index, (request, ends) in enumerate(zip(trace.requests, blocks, strict=True)):
        values = tuple(_told(request.parameters.get(name)) for name in hosted.keys_messages)
        if any(value is not None for value in values):
            number = numbers.setdefault(values, len(numbers) + 1)
            head = 0
            for end in takewhile(lambda end: end.role in _HEAD, ends):
                head = end.tokens
            found[index] = head, number % 1000
    return found


def _marks(ends: Sequence[BlockEnd], hosted: HostedProfile) -> list[tuple[int, float | None]]:
    return [(end.tokens, _seconds(end.mark, hosted)) for end in ends if end.mark is not None]


def _seconds(mark: CacheControl, hosted: HostedProfile) -> float | None:
    """The lifetime that a client named; None leaves it to the provider, also where the name is none of its
    own.
    """
    return None if mark.ttl is None else hosted.lifetimes.get(mark.ttl)
