"""Suspected faults of serving tried: each change alone, then one after the other, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.ra5xx.facts import Outcome, Suspect, World
from radixadvisor.diagnose.rules import rule
from radixadvisor.prescribe.counterfactual import interval
from radixadvisor.records import EditSpec
from radixadvisor.trace import Trace

__all__ = ["ServingFix", "ServingTrial", "setting_of", "try_serving", "words_of_serving"]


@dataclass(frozen=True, slots=True)
class ServingFix:
    """One change of serving tried, with the suspects that ask for it.

    Tokens: ``alone`` and ``marginal`` are computed tokens before minus after, on the log as it is and behind
    the text fixes and the changes applied before; ``interval`` holds 95 % of the marginal gains of resampled
    sessions; ``hits`` and ``length`` are the marginal changes of served and of prompt tokens; ``rate`` is the
    hit rate of ``profile`` with this change and all before it.
    """

    spec: EditSpec
    suspects: tuple[Suspect, ...]
    profile: str
    alone: int
    marginal: int
    interval: tuple[int, int]
    hits: int
    length: int
    rate: float


@dataclass(frozen=True, slots=True)
class ServingTrial:
    """Changes to apply in this order, and those that gain nothing."""

    applied: tuple[ServingFix, ...]
    rejected: tuple[ServingFix, ...]


def try_serving(world: World, trace: Trace, fixed: Trace, suspects: Sequence[Suspect]) -> ServingTrial:
    """Apply, measure and order the changes that suspects of one profile ask for.

    Args:
        world: the cache of that profile.
        trace: the log as it is.
        fixed: the log with all text fixes in it.
        suspects: those without a change are left out.
    """
    groups: dict[EditSpec, list[Suspect]] = {}
    for found in suspects:
        if found.change is not None:
            groups.setdefault(found.change, []).append(found)
    applied: list[ServingFix] = []
    changes: tuple[EditSpec, ...] = ()
    left = list(groups)

    def tried(spec: EditSpec) -> ServingFix:
        before, after = world.serve(fixed, changes), world.serve(fixed, (*changes, spec))
        alone = _gain(world.serve(trace), world.serve(trace, (spec,)))
        return _fix(spec, groups[spec], world.name, alone, before, after, fixed)

    while left:
        best = max((tried(spec) for spec in left), key=lambda fix: fix.marginal)
        least = min(rule(found.rule).threshold("least_share") for found in best.suspects)
        if best.marginal < max(least * int(world.serve(fixed).lengths.sum()), 1.0):
            break
        applied.append(best)
        changes = (*changes, best.spec)
        left.remove(best.spec)
    return ServingTrial(tuple(applied), tuple(tried(spec) for spec in left))


def _gain(before: Outcome, after: Outcome) -> int:
    return int(before.computed.sum() - after.computed.sum())


def _fix(
    spec: EditSpec,
    suspects: Sequence[Suspect],
    profile: str,
    alone: int,
    before: Outcome,
    after: Outcome,
    trace: Trace,
) -> ServingFix:
    gains = before.computed - after.computed
    total = int(after.lengths.sum())
    return ServingFix(
        spec=spec,
        suspects=tuple(suspects),
        profile=profile,
        alone=alone,
        marginal=int(gains.sum()),
        interval=interval(gains, [trace.sessions[index] for index in trace.order]),
        hits=int(after.served.sum() - before.served.sum()),
        length=total - int(before.lengths.sum()),
        rate=int(after.served.sum()) / total if total else 0.0,
    )


def words_of_serving(spec: EditSpec) -> str:
    """What a change of serving does, in words."""
    told = dict(spec.parameters)
    match spec.kind:
        case "one_cache":
            return "Send each session, and each shared prefix, to the replica that has it"
        case "cache_key":
            by = "per session" if told["by"] == "session" else "for all that share a beginning"
            return f"Use one prompt_cache_key {by}"
        case "lifetime":
            return f"Keep prefixes for {told['name']}, not for the default lifetime"
        case "keep_alive":
            return f"Repeat an idle prefix before {told['seconds']} s are over, to keep it alive"
        case "warm_first":
            return "Let the first request of a prefix reach its first token before the others start"
        case "no_bypass":
            return "Drop the feature that skips the cache, or send that traffic to servers of its own"
        case "page":
            return f"Use pages of {told['tokens']} token, or accept the loss"
        case "pool":
            return f"Give the pool {int(told['tokens']):,} tokens"
        case "host_tier":
            return f"Add a host tier of {told['ratio']} times the pool"
        case "admission":
            return (
                f"Send at most {told['limit']} requests at once, so that the scheduler sorts them by prefix"
            )
        case "sort_batch":
            return "Submit requests in the order of their prefixes"
        case "breakpoints":
            places = {
                "head": "the end of the system prompt",
                "history": "the last message",
                "both": "the end of the system prompt, the last message and the end of the request before",
            }
            return f"Set cache breakpoints at {places[told['plan']]}"
        case "hold_parameter":
            return f"Keep {told['name']} constant within a conversation"
    raise ValueError(f"no change of serving: {spec.kind}")


def setting_of(spec: EditSpec, profile: str) -> str:
    """The setting to change, as it is written in code, on a command line or in a configuration."""
    told = dict(spec.parameters)
    match spec.kind:
        case "one_cache":
            return "sglang_router --policy cache_aware, or hash the session id in the load balancer"
        case "cache_key":
            return "prompt_cache_key"
        case "lifetime":
            if profile == "openai":
                return f'prompt_cache_retention="{told["name"]}"'
            return f'cache_control={{"type": "ephemeral", "ttl": "{told["name"]}"}}'
        case "keep_alive":
            return "a timer in the client that repeats the last request with max_tokens=1"
        case "warm_first":
            return "await the first response (or its first token) before the fan-out"
        case "no_bypass":
            return "no prompt_logprobs (or pooling) in requests to this server; a second deployment for them"
        case "page":
            return f"--page-size {told['tokens']} (SGLang); --block-size of vLLM goes down to 1"
        case "pool":
            return f"--max-total-tokens {told['tokens']}, by --mem-fraction-static or more cards"
        case "host_tier":
            return f"--enable-hierarchical-cache --hicache-ratio {told['ratio']}"
        case "admission":
            return f"a semaphore of {told['limit']} in the client, with --schedule-policy lpm"
        case "sort_batch":
            return "sorted(prompts) before submitting"
        case "breakpoints":
            return 'cache_control={"type": "ephemeral"} on these blocks'
        case "hold_parameter":
            return f"{told['name']}: one value for all requests of a conversation"
    raise ValueError(f"no change of serving: {spec.kind}")
