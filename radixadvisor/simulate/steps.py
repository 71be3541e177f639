"""Served tokens per request with one restriction lifted after the other: what the loss ledger is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from radixengine.tree import RadixTree

from radixadvisor.simulate.hosted import HostedOptions, simulate_hosted
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import NONE, EngineProfile
from radixadvisor.simulate.requests import TOKEN_BYTES, Requests
from radixadvisor.simulate.run import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Steps = dict[str, Counts | None]

__all__ = ["STEPS", "hosted_ledger_steps", "ledger_steps", "longest_matches"]

STEPS = ("served", "capacity", "ttl", "replicas", "in_flight", "rounding", "isolation")


def ledger_steps(
    requests: Requests,
    profile: EngineProfile,
    options: Options | None = None,
    served: Counts | None = None,
) -> Steps:
    """Tokens served per request, in input order, at each step of ``STEPS``; None for a step that this log or
    this setting cannot evaluate (an engine's cache has no lifetime; one client has nothing in flight).

    An unlimited cache served one request after the other gives ``floor_P(min(L, n - 1))`` tokens (L: longest
    common prefix with any earlier request of the namespace, outputs as far as they are cached), so the steps
    from there on are computed, not simulated. Steps may serve less than those before them: scheduling is
    not monotonic. ``served`` are the tokens of the first step, if a simulation with these options has told
    them.
    """
    import numpy as np

    options = options or Options()
    profile = options.applied_to(profile, requests.unit)
    steps: Steps = dict.fromkeys(STEPS)
    if served is None:
        served = simulate(requests, profile, options).matched_tokens
    steps["served"] = served
    if profile.cache == NONE:
        return steps
    lengths = _lengths(requests)
    outputs = not options.prompt_only
    longest = longest_matches(requests, outputs=outputs)
    if profile.bypass and requests.features is not None:
        # A request that looks nothing up is apart from all others: lifted with the namespaces.
        apart = [requests.bypasses(index, profile.bypass) for index in range(len(requests))]
        longest = np.where(apart, 0, longest)
    if profile.partial_reuse:
        visible = np.minimum(longest, np.maximum(lengths - 1, 0))
    else:
        visible = np.minimum(longest, np.maximum(lengths - 1, 0)) // profile.page * profile.page
    serial = options.clients(requests) == 1
    unlimited = replace(options, capacity=None, pin=0, host_ratio=0.0, external_rate=0.0)
    if serial and options.replicas == 1:
        steps["capacity"] = visible
    elif options.capacity is None and not options.pin:
        steps["capacity"] = served
    else:
        steps["capacity"] = simulate(requests, profile, unlimited).matched_tokens
    if options.replicas == 1:
        steps["replicas"] = steps["capacity"]
    elif serial:
        steps["replicas"] = visible
    else:
        alone = replace(unlimited, replicas=1, route="round-robin")
        steps["replicas"] = simulate(requests, profile, alone).matched_tokens
    if not serial:
        steps["in_flight"] = visible
    steps["rounding"] = longest
    steps["isolation"] = longest_matches(requests, outputs=outputs, namespaces=False)
    return steps


def hosted_ledger_steps(
    requests: Requests,
    profile: HostedProfile,
    options: HostedOptions | None = None,
    served: Counts | None = None,
) -> Steps:
    """The same for a hosted API, which has no capacity of its own to lift; rounding includes its minimum."""
    options = options or HostedOptions()
    steps: Steps = dict.fromkeys(STEPS)
    if served is None:
        served = simulate_hosted(requests, profile, options).matched_tokens
    steps["served"] = served
    if requests.arrivals is not None:
        options = replace(options, lifetime=float("inf"))
        steps["ttl"] = simulate_hosted(requests, profile, options).matched_tokens
    if profile.route_tokens:
        options = replace(options, one_cache=True)
        steps["replicas"] = simulate_hosted(requests, profile, options).matched_tokens
    if requests.arrivals is not None and requests.latencies is not None:
        options = replace(options, instant=True)
        steps["in_flight"] = simulate_hosted(requests, profile, options).matched_tokens
    steps["rounding"] = longest_matches(requests, outputs=profile.outputs)
    steps["isolation"] = longest_matches(requests, outputs=profile.outputs, namespaces=False)
    return steps


def longest_matches(requests: Requests, *, outputs: bool, namespaces: bool = True) -> Counts:
    """Each request's longest common prefix with any earlier one, in tokens, in input order.

    ``outputs``: known outputs count as cached, without the last token. In a log of blocks whole blocks match.
    """
    import numpy as np

    tree = RadixTree()
    longest = np.zeros(len(requests), np.int64)
    known = requests.outputs if outputs else None
    for index in requests.order():
        prompt = requests.prompts[index]
        name = requests.namespace(index) if namespaces else ""
        output = known[index][:-TOKEN_BYTES] if known is not None else b""
        if output:
            longest[index] = tree.peek(prompt, namespace=name)[0]
            tree.match_insert(prompt + output, name)
        else:
            longest[index] = tree.match_insert(prompt, name)
    return np.minimum(longest * requests.unit, _lengths(requests))


def _lengths(requests: Requests) -> Counts:
    import numpy as np

    count = len(requests)
    return np.fromiter((requests.length(index) for index in range(count)), np.int64, count)
