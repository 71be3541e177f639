"""Caches that serve a log again with changes: the engine of the headline, the block cache, a hosted API."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from radixadvisor.analysis.columns import requests_of
from radixadvisor.analysis.measure import ENGINE, bypasses, times_of
from radixadvisor.analysis.pools import replicas_of, served_by_pool
from radixadvisor.diagnose.ra5xx.breakpoints import planned, reported_nothing
from radixadvisor.diagnose.ra5xx.facts import Changes, Outcome
from radixadvisor.measure.hits import matches, served, visible_matches
from radixadvisor.measure.walks import Walks, walk
from radixadvisor.prescribe.held import held_trace
from radixadvisor.simulate.hosted import HostedOptions, simulate_hosted
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.result import SimulationResult
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace
from radixadvisor.trace.content_blocks import ContentBlocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["ApiWorld", "BlockWorld", "EngineWorld", "Known", "Walked"]

_TOKEN_BYTES = 4


class Walked:
    """A trace with its walks and what follows from them, worked out once. Arrays in order of arrival."""

    def __init__(self, trace: Trace, walks: Walks | None = None) -> None:
        import numpy as np

        self.trace = trace
        self.lengths: Counts = np.array([trace.lengths[index] for index in trace.order], np.int64)
        self.namespaces = _numbers([trace.namespace(index) for index in trace.order])
        self._walks = walks

    @cached_property
    def walks(self) -> Walks:
        """The paths of all sequences."""
        if self._walks is not None:
            return self._walks
        trace = self.trace
        outputs = [trace.outputs[index][:-_TOKEN_BYTES] for index in trace.order]
        return walk(trace.prompts(), outputs, [str(trace.pool_of[index]) for index in trace.order])

    @cached_property
    def reuse(self) -> Counts:
        """Longest match in the namespace, tokens."""
        return self.tokens(matches(self.walks, self.namespaces))

    @cached_property
    def times(self) -> tuple[Floats, Floats, Floats] | None:
        """Arrival, first token and end in seconds."""
        found = times_of(self.trace, self.lengths, self.reuse)
        return None if found is None else found[:3]

    def tokens(self, positions: Counts) -> Counts:
        """Positions as tokens of the prompts."""
        import numpy as np

        found: Counts = np.minimum(positions * self.trace.unit, self.lengths)
        return found


class Known:
    """Traces by what was done to them, shared by worlds, so that nothing is walked twice."""

    def __init__(self, walked: Walked) -> None:
        self._known: dict[tuple[int, Changes], Walked] = {(id(walked.trace), ()): walked}
        self._held: list[Trace] = [walked.trace]

    def of(self, trace: Trace, changes: Changes = ()) -> Walked:
        """The trace with the parameters held that ``changes`` name."""
        holds = tuple(change for change in changes if change.kind == "hold_parameter")
        key = (id(trace), holds)
        found = self._known.get(key)
        if found is None:
            # Kept alive, so that no other trace gets its number.
            self._held.append(trace)
            held = trace
            for change in holds:
                held = held_trace(held, dict(change.parameters)["name"])
            found = self._known[key] = Walked(held)
        return found


class EngineWorld:
    """The headline engine: an unlimited pool at the log's own times, on the replicas that served it; a
    simulated one where the user tells a pool or clients, or a long queue is looked at.
    """

    def __init__(self, known: Known, setting: Setting, *, queued: bool = False) -> None:
        self.name = ENGINE
        self._known = known
        self._setting = setting
        self._simulated = setting.capacity is not None or setting.concurrency is not None or queued
        self._outcomes: dict[tuple[int, Changes], Outcome] = {}

    def serve(self, trace: Trace, changes: Changes = ()) -> Outcome:
        """Serve a log."""
        key = (id(trace), changes)
        found = self._outcomes.get(key)
        if found is None:
            walked = self._known.of(trace, changes)
            kinds = {change.kind: dict(change.parameters) for change in changes}
            column = self._pool(walked.trace, kinds) if self._simulated else self._free(walked, kinds)
            found = self._outcomes[key] = Outcome(column, walked.lengths)
        return found

    def _free(self, walked: Walked, kinds: dict[str, dict[str, str]]) -> Counts:
        replicas = None if "one_cache" in kinds else replicas_of(walked.trace, self._setting)
        groups = walked.namespaces
        if replicas is not None:
            groups = _numbers([f"{space}|{one}" for space, one in zip(groups, replicas, strict=True)])
        page = -(-engine(self.name).page // walked.trace.unit) * walked.trace.unit
        if "warm_first" in kinds or walked.times is None:
            found = matches(walked.walks, groups)
        else:
            found = visible_matches(walked.walks, *walked.times, groups)
        return served(walked.tokens(found), walked.lengths, page)

    def _pool(self, trace: Trace, kinds: dict[str, dict[str, str]]) -> Counts:
        setting = self._setting
        changes: dict[str, Any] = {}
        if "one_cache" in kinds:
            changes |= {"replicas": 1, "route": "round-robin"}
        if "warm_first" in kinds:
            changes |= {"concurrency": 1, "policy": None}
        if "pool" in kinds:
            changes["capacity"] = int(kinds["pool"]["tokens"])
        if "host_tier" in kinds:
            changes["host_ratio"] = float(kinds["host_tier"]["ratio"])
        if setting.concurrency is None and setting.capacity is None:
            changes.setdefault("policy", "lpm")
        if "admission" in kinds:
            changes["concurrency"] = int(kinds["admission"]["limit"])
        batch = "sort_batch" in kinds
        if batch and setting.concurrency is None:
            changes["concurrency"] = len(trace.requests)
        return served_by_pool(trace, self.name, setting, sorted_batch=batch, **changes)


class BlockWorld:
    """vLLM's block cache, unlimited, one request after the other."""

    def __init__(self, known: Known) -> None:
        self.name = "vllm"
        self._known = known

    def serve(self, trace: Trace, changes: Changes = ()) -> Outcome:
        """Serve a log."""
        import numpy as np

        walked = self._known.of(trace, changes)
        kinds = {change.kind: dict(change.parameters) for change in changes}
        profile = engine(self.name)
        page = int(kinds["page"]["tokens"]) if "page" in kinds else profile.page
        unit = walked.trace.unit
        found = served(walked.reuse, walked.lengths, -(-page // unit) * unit)
        if "no_bypass" not in kinds:
            found = np.where(bypasses(walked.trace, profile), 0, found)
        return Outcome(found, walked.lengths)


@dataclass(frozen=True, slots=True)
class _Served:
    result: SimulationResult
    lifetime: float


class ApiWorld:
    """A hosted API, simulated."""

    def __init__(self, known: Known, profile: HostedProfile) -> None:
        self.name = profile.name
        self._profile = profile
        self._known = known
        self._results: dict[tuple[int, Changes], _Served] = {}

    def serve(self, trace: Trace, changes: Changes = ()) -> Outcome:
        """Serve a log."""
        import numpy as np

        walked = self._known.of(trace, changes)
        if self._uncached(walked.trace, changes):
            return Outcome(np.zeros(len(walked.lengths), np.int64), walked.lengths)
        found = self._result(walked.trace, changes).result.matched_tokens[walked.trace.order]
        return Outcome(found, walked.lengths)

    def bill(self, trace: Trace, changes: Changes = ()) -> float:
        """What the prompts cost, in prices of a plain token."""
        profile = self._profile
        trace = self._known.of(trace, changes).trace
        if self._uncached(trace, changes):
            return float(sum(trace.lengths))
        found = self._result(trace, changes)
        result, lifetime = found.result, found.lifetime
        assert result.written_tokens is not None
        read, written = int(result.matched_tokens.sum()), int(result.written_tokens.sum())
        plain = int(result.prompt_tokens.sum()) - read - written
        bill = plain + read * profile.read_price + written * profile.write_price(lifetime)
        if any(change.kind == "keep_alive" for change in changes):
            bill += self._pings(trace, result) * profile.read_price
        return bill

    def still_cached(self, trace: Trace, lifetime: float) -> float:
        """The share of prompt tokens that an earlier prompt began with, used within ``lifetime`` seconds."""
        profile = replace(
            self._profile,
            kind="prefix",
            minimum=1,
            minimums=(),
            step=1,
            route_tokens=0,
            max_age=inf,
        )
        requests = replace(requests_of(trace), breakpoints=None, blocks=None)
        result = simulate_hosted(requests, profile, HostedOptions(lifetime=lifetime, instant=True))
        return result.rate

    def _uncached(self, trace: Trace, changes: Changes) -> bool:
        """No breakpoint anywhere, and the API reports that it neither read nor wrote anything."""
        if self._profile.kind != "breakpoints" or any(change.kind == "breakpoints" for change in changes):
            return False
        return reported_nothing(trace) and not _marked(trace)

    def _result(self, trace: Trace, changes: Changes) -> _Served:
        key = (id(trace), tuple(change for change in changes if change.kind != "hold_parameter"))
        found = self._results.get(key)
        if found is None:
            found = self._results[key] = self._simulate(trace, changes)
        return found

    def _simulate(self, trace: Trace, changes: Changes) -> _Served:
        requests = requests_of(trace, self._profile)
        options = HostedOptions()
        lifetime = self._profile.lifetime
        for change in changes:
            told = dict(change.parameters)
            match change.kind:
                case "lifetime":
                    lifetime = float(told["seconds"])
                    options = replace(options, lifetime=lifetime)
                    requests = replace(requests, breakpoints=_without_lifetimes(requests))
                case "keep_alive":
                    options = replace(options, lifetime=inf)
                case "warm_first":
                    options = replace(options, instant=True)
                case "minimum":
                    options = replace(options, minimum=1)
                case "breakpoints":
                    marks = _planned(trace, told["plan"], self._profile.lookback)
                    requests = replace(requests, breakpoints=marks)
                case "cache_key":
                    requests = replace(requests, keys=_keys(requests, told["by"]))
        return _Served(simulate_hosted(requests, self._profile, options), lifetime)

    def _pings(self, trace: Trace, result: SimulationResult) -> int:
        """Tokens read by requests that keep prefixes alive: through every gap that is longer than the
        lifetime, and once as long after the last request of each session, whose end nobody foresees.
        """
        lifetime = self._profile.lifetime
        last: dict[int, int] = {}
        pings = longest = 0
        for index in trace.order:
            session = trace.sessions[index]
            before = last.get(session)
            if before is not None:
                gap = (trace.requests[index].arrival or 0.0) - (trace.requests[before].arrival or 0.0)
                beats = int(gap // lifetime)
                longest = max(longest, beats)
                pings += beats * int(result.matched_tokens[index])
            last[session] = index
        return pings + longest * sum(trace.lengths[index] for index in last.values())


def _marked(trace: Trace) -> bool:
    for request in trace.requests:
        if any(message.cache_control is not None for message in request.messages or ()):
            return True
        if request.tools is not None and any(tool.cache_control for tool in request.tools.tools):
            return True
    return False


def _without_lifetimes(requests: Requests) -> list[list[tuple[int, float | None]]] | None:
    if requests.breakpoints is None:
        return None
    return [[(at, None) for at, _ in marks] for marks in requests.breakpoints]


def _planned(trace: Trace, plan: str, lookback: int) -> list[list[tuple[int, float | None]]]:
    blocks = ContentBlocks(trace)
    return [
        [(end.tokens, None) for end in planned(blocks.of(index), plan, lookback)]
        for index in range(len(trace.requests))
    ]


def _keys(requests: Requests, by: str) -> list[str] | None:
    if by == "none" or requests.sessions is None:
        return None
    return [str(session) for session in requests.sessions]


def _numbers(names: list[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
