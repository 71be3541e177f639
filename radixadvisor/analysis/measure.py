"""Every measurement of one trace against unlimited caches, and the ledger that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.analysis.hosted import hosted_profile, hosted_reasons, hosted_steps
from radixadvisor.analysis.pools import replicas_of, served_by_pool
from radixadvisor.analysis.repeats import repeated_runs
from radixadvisor.measure.elsewhere import covered_elsewhere
from radixadvisor.measure.hits import (
    matches,
    prompt_matches,
    served,
    session_matches,
    visible_matches,
)
from radixadvisor.measure.ledger import Ledger, compose
from radixadvisor.measure.walks import Walks, walk
from radixadvisor.simulate.bypass import bypass_of
from radixadvisor.simulate.cost import LinearCost
from radixadvisor.simulate.profiles import NONE, EngineProfile, engine
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

PROFILES = ("sglang", "sglang-page16", "sglang-page64", "vllm", "trtllm", "none")
ENGINE = "sglang"
NOTHING_TOLD = Setting()
_TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """Tokens per request in order of arrival.

    ``unlimited``: prompts alone; ``same_session`` and ``other_session`` the same by who came before;
    ``profiles``: served by each engine with an unlimited pool, one request after the other, and by the hosted
    API that served the log, if one did; ``headline``: the profile that the ledger starts from; ``missing``:
    why a bucket of the ledger was not evaluated.
    """

    walks: Walks
    lengths: Counts
    unlimited: Counts
    same_session: Counts
    other_session: Counts
    profiles: dict[str, Counts]
    headline: str
    ledger: Ledger
    missing: dict[str, str]
    notes: tuple[str, ...]
    modelled_prefills: int


def measure(trace: Trace, order_gain: Counts | None = None, setting: Setting = NOTHING_TOLD) -> Measured:
    """Measure a trace.

    Args:
        trace: a tokenized log.
        order_gain: computed tokens before minus after all prescriptions, per request in order of arrival.
        setting: pool, clients and replicas where the user tells them.
    """
    import numpy as np

    unit = trace.unit
    lengths = np.array([trace.lengths[index] for index in trace.order], np.int64)
    vocabularies = [str(trace.pool_of[index]) for index in trace.order]
    cached = [trace.outputs[index][:-_TOKEN_BYTES] for index in trace.order]
    walks = walk(trace.prompts(), cached, vocabularies)
    namespaces = _numbers([trace.namespace(index) for index in trace.order])
    sessions = [trace.sessions[index] for index in trace.order]

    def tokens(positions: Counts) -> Counts:
        return np.minimum(positions * unit, lengths)

    unlimited = tokens(prompt_matches(walks))
    same, other = session_matches(walks, sessions)
    reuse = tokens(matches(walks, namespaces))
    profiles = {name: _served(_profile(name), reuse, lengths, unit) for name in PROFILES}
    profiles = {
        name: np.where(bypasses(trace, _profile(name)), 0, column) for name, column in profiles.items()
    }
    missing: dict[str, str] = {}
    headline, modelled = ENGINE, 0
    notes: tuple[str, ...] = ()
    hosted = hosted_profile(trace)
    if hosted is None:
        steps, modelled = _engine_steps(trace, walks, lengths, namespaces, reuse, missing, setting)
    else:
        headline = hosted.name
        steps, notes = hosted_steps(trace, walks, lengths, namespaces, hosted)
        missing |= hosted_reasons(steps)
        served_by_api = steps["served"]
        assert served_by_api is not None
        profiles[headline] = served_by_api
    alone = steps["isolation"]
    if unit == 1 and alone is not None:
        steps["elsewhere"] = alone + covered_elsewhere(
            trace.prompts(),
            unlimited,
            vocabularies,
            counted_from=np.maximum(alone, unlimited),
            known_runs=repeated_runs(trace),
        )
    else:
        missing["ledger.elsewhere"] = "a hash trace shows no text beside the prefix"
    return Measured(
        walks=walks,
        lengths=lengths,
        unlimited=unlimited,
        same_session=tokens(same),
        other_session=tokens(other),
        profiles=profiles,
        headline=headline,
        ledger=compose(lengths, steps, order_gain),
        missing=missing,
        notes=notes,
        modelled_prefills=modelled,
    )


def _profile(name: str) -> EngineProfile:
    base, _, page = name.partition("-page")
    return engine(base).with_page(int(page) if page else None)


def _served(profile: EngineProfile, reuse: Counts, lengths: Counts, unit: int) -> Counts:
    import numpy as np

    if profile.cache == NONE:
        return np.zeros(len(lengths), np.int64)
    # Partial reuse copies the shared part of a block, the unfilled last one of a finished request included.
    page = 1 if profile.partial_reuse else profile.page
    return served(reuse, lengths, -(-page // unit) * unit)


def bypasses(trace: Trace, profile: EngineProfile) -> list[bool]:
    """For each request in order of arrival whether an engine serves it without looking at its cache."""
    if not profile.bypass:
        return [False] * len(trace.order)
    return [bypass_of(trace.requests[index], profile.bypass) is not None for index in trace.order]


def _numbers(names: list[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def _engine_steps(
    trace: Trace,
    walks: Walks,
    lengths: Counts,
    namespaces: list[int],
    reuse: Counts,
    missing: dict[str, str],
    setting: Setting,
) -> tuple[dict[str, Counts | None], int]:
    """Tokens served by an engine with an unlimited pool at the log's own times, one restriction lifted after
    the other; and how many times to first token were modelled.
    """
    import numpy as np

    unit = trace.unit
    page = -(-engine(ENGINE).page // unit) * unit
    missing["ledger.ttl"] = "an engine's cache has no lifetime"
    split = namespaces
    replicas = replicas_of(trace, setting)
    if replicas is not None:
        split = _numbers([f"{space}|{replica}" for space, replica in zip(namespaces, replicas, strict=True)])
    else:
        missing["ledger.replicas"] = "the log does not name the replicas that served it"

    times = times_of(trace, lengths, reuse)

    def kept(groups: list[int]) -> Counts:
        found = matches(walks, groups) if times is None else visible_matches(walks, *times[:3], groups)
        return served(np.minimum(found * unit, lengths), lengths, page)

    steps: dict[str, Counts | None] = {"served": kept(split)}
    if setting.capacity is None:
        missing["ledger.capacity"] = "no pool size is given: the pool counts as unlimited"
    else:
        steps = {"served": served_by_pool(trace, ENGINE, setting), "capacity": steps["served"]}
    if split is not namespaces:
        steps["replicas"] = kept(namespaces)
    if times is None:
        missing["ledger.in_flight"] = "some requests have no timestamp"
    else:
        steps["in_flight"] = served(reuse, lengths, page)
    steps["rounding"] = reuse
    steps["isolation"] = np.minimum(matches(walks) * unit, lengths)
    return steps, 0 if times is None else times[3]


def times_of(
    trace: Trace, lengths: Counts, reuse: Counts
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int] | None:
    """Arrival, first token and end of each request, and how many first tokens were modelled.

    A time that the log does not have follows from the default linear cost: prefill of what is not reused, one
    step per output token.
    """
    import numpy as np

    arrivals = trace.arrivals()
    if arrivals is None:
        return None
    cost = LinearCost()
    first_tokens, ends = [], []
    modelled = 0
    for position, index in enumerate(trace.order):
        request = trace.requests[index]
        start = arrivals[position]
        computed = int(lengths[position] - reuse[position])
        wait = request.ttft
        if wait is None:
            modelled += 1
            wait = cost.seconds(computed, 0)
            if request.latency is not None:
                wait = min(wait, request.latency)
        steps = trace.output_lengths[index]
        end = start + (wait + steps * cost.seconds(0, 1) if request.latency is None else request.latency)
        first_tokens.append(start + wait)
        ends.append(max(end, start + wait))
    return np.array(arrivals), np.array(first_tokens), np.array(ends), modelled
