"""The headline of a log that a hosted API served: what its cache gave, and the ledger from there on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from radixadvisor.analysis.columns import Prompts, requests_of
from radixadvisor.catalog import family_of
from radixadvisor.measure.hits import matches, prompt_matches, visible_matches
from radixadvisor.measure.walks import Walks
from radixadvisor.simulate.hosted import simulate_hosted
from radixadvisor.simulate.hosted_profiles import HostedProfile, providers
from radixadvisor.simulate.result import SimulationResult
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Steps = dict[str, Counts | None]

HOSTED_REASONS = {
    "capacity": "a hosted API has no pool size of its own to lift",
    "ttl": "some requests have no timestamp: nothing expires",
    "replicas": "this API meets all requests with one cache",
    "in_flight": "it takes a timestamp and a latency with every request",
}
"""Why a step of a hosted API's ledger may be missing, by step."""


def hosted_profile(trace: Trace) -> HostedProfile | None:
    """The API that served most of a log's prompt tokens; None if that was no API."""
    tokens: Counter[str] = Counter()
    for request, length in zip(trace.requests, trace.lengths, strict=True):
        if request.blocks is None:
            tokens[family_of(request.model).provider] += length
    return providers().get(max(sorted(tokens), key=tokens.__getitem__)) if tokens else None


def hosted_steps(
    trace: Trace, walks: Walks, lengths: Counts, namespaces: list[int], profile: HostedProfile
) -> tuple[Steps, tuple[str, ...]]:
    """Tokens served per request in order of arrival, one restriction of the API lifted after the other, and
    what to say beside them.

    An API that caches any prefix needs one simulation, of expiry: without it, what is served follows from the
    walks. The others are simulated at each step.
    """
    requests = requests_of(trace, profile)
    result = simulate_hosted(requests, profile)
    if profile.kind != "prefix":
        from radixadvisor.simulate.steps import hosted_ledger_steps, longest_matches

        steps = hosted_ledger_steps(requests, profile, served=result.matched_tokens)
        if profile.keys_messages:
            # Lifted with the namespaces: parameters that split what stands behind the system prompt.
            bare = replace(requests, prompts=Prompts(trace))
            steps["isolation"] = longest_matches(bare, outputs=profile.outputs, namespaces=False)
        ordered = {name: None if column is None else column[trace.order] for name, column in steps.items()}
        return ordered, result.notes
    if profile.keys_all:
        spaces: dict[str, int] = {}
        named = [requests.namespace(index) for index in trace.order]
        namespaces = [spaces.setdefault(name, len(spaces)) for name in named]
    return _prefix_steps(trace, walks, lengths, namespaces, profile, result), result.notes


def hosted_reasons(steps: Steps) -> dict[str, str]:
    """Why steps of a hosted API's ledger were not evaluated."""
    return {f"ledger.{name}": reason for name, reason in HOSTED_REASONS.items() if steps.get(name) is None}


def _prefix_steps(
    trace: Trace,
    walks: Walks,
    lengths: Counts,
    namespaces: list[int],
    profile: HostedProfile,
    result: SimulationResult,
) -> Steps:
    import numpy as np

    minimums = np.array([profile.minimum_for(trace.requests[index].model) for index in trace.order], np.int64)

    def floored(matched: Counts) -> Counts:
        usable = np.minimum(matched, lengths - 1)
        whole = minimums + (usable - minimums) // profile.step * profile.step
        return np.where(usable >= minimums, whole, 0)

    find = matches if profile.outputs else prompt_matches
    steps: Steps = {"served": result.matched_tokens[trace.order]}
    arrivals = trace.arrivals()
    latencies = [trace.requests[index].latency for index in trace.order]
    if arrivals is not None:
        waits = [latency or 0.0 for latency in latencies] if None not in latencies else [0.0] * len(latencies)
        ends = np.array(arrivals) + np.array(waits)
        outputs = ends if profile.outputs else np.full(len(ends), np.inf)
        machines = _machines(trace, namespaces, profile, result)
        steps["ttl"] = floored(visible_matches(walks, np.array(arrivals), ends, outputs, machines))
        steps["replicas"] = floored(visible_matches(walks, np.array(arrivals), ends, outputs, namespaces))
        if None not in latencies:
            steps["in_flight"] = floored(find(walks, namespaces))
    steps["rounding"] = find(walks, namespaces)
    steps["isolation"] = find(walks)
    return steps


def _machines(
    trace: Trace, namespaces: list[int], profile: HostedProfile, result: SimulationResult
) -> list[int]:
    """A number per request: equal ones met the same cache of the API."""
    numbers: dict[tuple[int, str, bytes, int], int] = {}
    found = []
    for space, index in zip(namespaces, trace.order, strict=True):
        key = trace.requests[index].parameters.get("prompt_cache_key", "")
        head = trace.head(index, profile.route_tokens)
        place = (space, key, head, int(result.replica[index]))
        found.append(numbers.setdefault(place, len(numbers)))
    return found
