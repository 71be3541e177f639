"""Simulate a log on a hosted API's prompt cache: minimums, steps, lifetimes, routing and breakpoints."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan

from xxhash import xxh64_intdigest

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.requests import TOKEN_BYTES, Requests
from radixadvisor.simulate.result import SimulationResult, Totals
from radixadvisor.simulate.timed_tree import TimedTree

__all__ = ["HostedOptions", "simulate_hosted"]

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class HostedOptions:
    """A what-if for a hosted API. None keeps the provider's own value.

    Attributes:
        lifetime: seconds, or one of the provider's lifetimes by name; ``inf`` for no expiry.
        minimum, step: tokens.
        one_cache: no routing by hash, no overflow.
        instant: an entry can be hit as soon as its request arrives, not when it ends.
        namespaces: False lets all namespaces share.
        speedup: the log's time passes this many times faster.
    """

    lifetime: float | str | None = None
    minimum: int | None = None
    step: int | None = None
    one_cache: bool = False
    instant: bool = False
    namespaces: bool = True
    speedup: float = 1.0

    def seconds(self, profile: HostedProfile, requests: Requests) -> float:
        """The lifetime that applies; without timestamps nothing expires.

        Raises:
            UsageError: a lifetime is asked for and the log has no timestamps, or it is not above 0.
            UnknownName: the provider has no lifetime of that name.
        """
        given = self.lifetime
        if given is None:
            return profile.lifetime if requests.arrivals is not None else inf
        if isinstance(given, str):
            if given not in profile.lifetimes:
                raise UnknownName(f"{profile.name} lifetime", given, profile.lifetimes)
            given = profile.lifetimes[given]
        if not given > 0:
            raise UsageError(f"A lifetime is a number of seconds above 0, not {given:g}.")
        if requests.arrivals is None and given != inf:
            raise UsageError(
                "Lifetimes need a timestamp in every request, and this log lacks some; without a lifetime "
                "the log is simulated as if nothing expired."
            )
        return given


def simulate_hosted(
    requests: Requests, profile: HostedProfile, options: HostedOptions | None = None
) -> SimulationResult:
    """Serve a log from a provider's cache. Times of service are not modelled (nan).

    A log without any breakpoint is cached automatically, also where the provider wants breakpoints. An entry
    can be hit when the request that wrote it has ended; without latencies, when it has arrived.

    Raises:
        UsageError: the options do not fit the log.
    """
    import numpy as np

    options = options or HostedOptions()
    api = _Api(requests, profile, options)
    count = len(requests)
    found = [(0, 0, 0)] * count
    for index in requests.order():
        found[index] = api.serve(index)
    matched, written, machine = np.array(found, np.int64).reshape(-1, 3).T
    lengths = np.fromiter((requests.length(index) for index in range(count)), np.int64, count)
    zeros, unknown = np.zeros(count, np.int64), np.full(count, nan)
    return SimulationResult(
        label=profile.name,
        prompt_tokens=lengths,
        matched_tokens=matched,
        host_tokens=zeros,
        computed_tokens=lengths - matched,
        replica=machine,
        ttft=unknown,
        e2e=unknown,
        queue=unknown,
        refused=np.zeros(count, np.bool_),
        truncated=np.zeros(count, np.bool_),
        retractions=zeros,
        recomputed_tokens=zeros,
        reasons={},
        totals=Totals(prefilled_tokens=int((lengths - matched).sum())),
        notes=api.notes(),
        written_tokens=written,
    )


class _Api:
    """The provider's caches, one per machine, and the entries still being written."""

    def __init__(self, requests: Requests, profile: HostedProfile, options: HostedOptions) -> None:
        self._requests = requests
        self._profile = profile
        self._options = options
        self._lifetime = options.seconds(profile, requests)
        self._max_age = inf if self._lifetime == inf else max(profile.max_age, self._lifetime)
        self._step = options.step or profile.step
        self._trees: dict[tuple[str, int, int], TimedTree] = {}
        self._recent: dict[int, deque[float]] = {}
        self._pending: list[tuple[float, int, Callable[[float], None]]] = []
        self._marked = requests.breakpoints is not None and any(requests.breakpoints)
        self._routed = bool(profile.route_tokens) and not options.one_cache
        self._clock = 0.0

    def serve(self, index: int) -> tuple[int, int, int]:
        """(tokens served, tokens written, machine) of the next request by arrival."""
        requests, profile = self._requests, self._profile
        if requests.arrivals is not None:
            self._clock = requests.arrivals[index] / self._options.speedup
        now = self._clock
        while self._pending and self._pending[0][0] <= now:
            at, _, write = heapq.heappop(self._pending)
            write(at)
        prompt = requests.prompt(index)
        machine, tree = self._tree(index, prompt)
        model = requests.models[index] if requests.models is not None else ""
        minimum = self._options.minimum or profile.minimum_for(model)
        if profile.kind == "units":
            found, written, write = self._units(tree, prompt, index, minimum)
        elif profile.kind == "breakpoints" and (self._marked or requests.blocks is not None):
            found, written, write = self._breakpoints(tree, prompt, index, minimum)
        else:
            found, written, write = self._prefix(tree, prompt, minimum)
        heapq.heappush(self._pending, (self._visible(index, now), index, write))
        return found, written, machine

    def notes(self) -> tuple[str, ...]:
        """What to say beside the numbers."""
        notes = list(self._profile.notes)
        if self._requests.arrivals is None:
            notes.append("the log lacks timestamps: nothing expires and no request overflows")
        if self._requests.latencies is None and not self._options.instant:
            notes.append("the log lacks latencies: entries can be hit as soon as their request arrives")
        if self._profile.kind == "breakpoints" and not self._marked:
            notes.append("the log has no cache breakpoint: simulated as automatic caching")
        return tuple(notes)

    def _visible(self, index: int, now: float) -> float:
        latencies = self._requests.latencies
        if latencies is None or self._options.instant or self._requests.arrivals is None:
            return now
        return now + latencies[index] / self._options.speedup

    def _tree(self, index: int, prompt: bytes) -> tuple[int, TimedTree]:
        requests, profile = self._requests, self._profile
        namespace = requests.namespace(index) if self._options.namespaces else ""
        route, machine = 0, 0
        if self._routed:
            key = requests.keys[index] if requests.keys is not None else ""
            head = prompt[: profile.route_tokens * TOKEN_BYTES]
            route = xxh64_intdigest(key.encode("utf-8", "surrogatepass") + b"\0" + head)
            if profile.per_minute and requests.arrivals is not None:
                recent = self._recent.setdefault(route, deque())
                while recent and recent[0] <= self._clock - MINUTE:
                    recent.popleft()
                machine = len(recent) // profile.per_minute
                recent.append(self._clock)
        place = (namespace, route, machine)
        tree = self._trees.get(place)
        if tree is None:
            tree = self._trees[place] = TimedTree()
        return machine, tree

    def _floored(self, tokens: int, minimum: int) -> int:
        """A hit's length: nothing below the minimum, whole steps beyond it."""
        return minimum + (tokens - minimum) // self._step * self._step if tokens >= minimum else 0

    def _prefix(
        self, tree: TimedTree, prompt: bytes, minimum: int
    ) -> tuple[int, int, Callable[[float], None]]:
        """Any prefix of an earlier prompt; the last token is never served."""
        size = len(prompt) // TOKEN_BYTES

        def served(longest: int) -> int:
            return self._floored(min(longest, size - 1), minimum)

        found = tree.hit(prompt, self._clock, self._lifetime, self._max_age, served)
        stored = self._floored(size, minimum)

        def write(at: float) -> None:
            tree.add(prompt[: stored * TOKEN_BYTES], at, self._lifetime, self._max_age)

        return found, max(stored - found, 0), write

    def _breakpoints(
        self, tree: TimedTree, prompt: bytes, index: int, minimum: int
    ) -> tuple[int, int, Callable[[float], None]]:
        """Entries at breakpoints, looked for there and at some content blocks before."""
        requests, profile, now = self._requests, self._profile, self._clock
        blocks = requests.blocks[index] if requests.blocks is not None else ()
        if self._marked:
            assert requests.breakpoints is not None
            marks = list(requests.breakpoints[index])[-profile.max_breakpoints :]
        else:
            marks = [(blocks[-1], None)] if blocks else []
        marks = [(at, ttl) for at, ttl in marks if at >= minimum]
        allowed: set[int] = set()
        for at, _ in marks:
            allowed.add(at)
            allowed.update([block for block in blocks if block < at][-profile.lookback :])
        found = 0
        if marks:
            present = tree.entries(prompt[: marks[-1][0] * TOKEN_BYTES], now)
            found = max((at for at in present if at in allowed), default=0)
        if found:
            tree.renew(prompt[: found * TOKEN_BYTES], now)

        def write(at: float) -> None:
            for position, ttl in marks:
                lifetime = self._lifetime if ttl is None or self._lifetime == inf else ttl
                tree.mark(prompt[: position * TOKEN_BYTES], at, lifetime)

        return found, max((at for at, _ in marks), default=found) - found, write

    def _units(
        self, tree: TimedTree, prompt: bytes, index: int, minimum: int
    ) -> tuple[int, int, Callable[[float], None]]:
        """Whole units: ends of earlier prompts and outputs, and what two requests were seen to share."""
        now, size = self._clock, len(prompt) // TOKEN_BYTES
        usable = [at for at in tree.entries(prompt, now) if minimum <= at < size]
        found = usable[-1] if usable else 0
        if found:
            tree.renew(prompt[: found * TOKEN_BYTES], now)
        shared = tree.longest(prompt, now)
        stored = size if size >= minimum else 0
        whole = prompt + self._requests.output(index)[:-TOKEN_BYTES]

        def write(at: float) -> None:
            for end in {shared, size, len(whole) // TOKEN_BYTES}:
                if end >= minimum:
                    tree.mark(whole[: end * TOKEN_BYTES], at, self._lifetime)

        return found // self._step * self._step, max(stored - found, 0), write
