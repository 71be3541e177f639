"""From a trace to a study: the columns that a simulation reads, the runs, their ledgers and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from radixadvisor.analysis.columns import requests_of
from radixadvisor.analysis.hosted import HOSTED_REASONS
from radixadvisor.analysis.sampling import LOWER_BOUNDS, sampled
from radixadvisor.ingest import Log
from radixadvisor.report.study import Run, Study
from radixadvisor.results import LedgerRow
from radixadvisor.simulate.compare import compare, eviction_chain
from radixadvisor.simulate.hosted import HostedOptions, simulate_hosted
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import BLOCKS, RADIX, EngineProfile
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from radixadvisor.simulate.steps import hosted_ledger_steps, ledger_steps
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["EngineSetting", "HostedSetting", "Setting", "study_of"]


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """A run of an engine; ``mark`` is added to its label."""

    engine: EngineProfile
    options: Options
    mark: str = ""


@dataclass(frozen=True, slots=True)
class HostedSetting:
    """A run of a hosted API."""

    profile: HostedProfile
    options: HostedOptions


Setting = EngineSetting | HostedSetting


def study_of(
    trace: Trace,
    log: Log,
    settings: Sequence[Setting],
    shared: Mapping[str, Any],
    shuffled_trace: Trace | None = None,
) -> Study:
    """Make every run on one log, and on its shuffled form if there is one.

    Raises:
        UsageError: a setting does not fit the log or the engine.
    """
    hosted = next((made.profile for made in settings if isinstance(made, HostedSetting)), None)
    requests = requests_of(trace, hosted)
    elsewhere = _Elsewhere(trace)
    made = [_run(requests, setting, elsewhere) for setting in settings]
    if shuffled_trace is not None:
        other, other_elsewhere = requests_of(shuffled_trace, hosted), _Elsewhere(shuffled_trace)
        made += [_run(other, setting, other_elsewhere, " shuffled") for setting in settings]
    if shared.get("sampled") is None and (sign := sampled(trace)) is not None:
        looks = f"the log looks like a sample of about {sign.share:.0%} of the traffic ({sign.evidence})"
        note = f"{looks}: {LOWER_BOUNDS}"
        made = [replace(run, result=replace(run.result, notes=(*run.result.notes, note))) for run in made]
    runs = tuple(made)
    missing = {
        f"ledger.{name}": _reason(name, settings[0])
        for name, column in runs[0].columns.items()
        if all(run.columns[name] is None for run in runs) and column is None
    }
    if isinstance(settings[0], HostedSetting):
        missing["ttft"] = missing["e2e"] = missing["queue"] = (
            "a hosted API's times of service are not modelled"
        )
    return Study(
        files=tuple(log.files),
        dialect=log.dialect,
        skipped=trace.skips.total,
        ids=[request.id for request in trace.requests],
        arrivals=[request.arrival for request in trace.requests],
        prompt_tokens=sum(trace.lengths),
        options=shared,
        runs=runs,
        comparisons=tuple(compare(runs[0].result, run.result) for run in runs[1 : len(settings)]),
        eviction=tuple(_chain(requests, settings)),
        not_evaluated=missing,
    )


def _run(requests: Requests, setting: Setting, elsewhere: _Elsewhere, mark: str = "") -> Run:
    from radixadvisor.measure.ledger import compose

    if isinstance(setting, HostedSetting):
        name, cache, policy = setting.profile.name, "hosted", ""
        result = simulate_hosted(requests, setting.profile, setting.options)
        steps = hosted_ledger_steps(requests, setting.profile, setting.options, result.matched_tokens)
    else:
        name, cache = setting.engine.name, setting.engine.cache
        policy = setting.options.policy or setting.engine.scheduler.policy
        result = simulate(requests, setting.engine, setting.options)
        mark = setting.mark + mark
        steps = ledger_steps(requests, setting.engine, setting.options, result.matched_tokens)
    ledger = compose(result.prompt_tokens, {**steps, "elsewhere": elsewhere(steps["isolation"])})
    rows = tuple(LedgerRow(bucket.name, bucket.tokens, bucket.share) for bucket in ledger.buckets)
    return Run(name, cache, policy, replace(result, label=result.label + mark), rows, ledger.columns)


class _Elsewhere:
    """Tokens of a prompt that stand anywhere in an earlier one, beyond what a prefix cache can serve."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._found: dict[bytes, Counts] = {}

    def __call__(self, alone: Counts | None) -> Counts | None:
        """``alone``: tokens served by an unlimited cache without namespaces, in input order."""
        if alone is None or self._trace.unit > 1:
            return None
        key = alone.tobytes()
        if key not in self._found:
            self._found[key] = self._count(alone)
        return self._found[key]

    def _count(self, alone: Counts) -> Counts:
        import numpy as np

        from radixadvisor.measure.elsewhere import covered_elsewhere
        from radixadvisor.measure.hits import prompt_matches
        from radixadvisor.measure.walks import walk

        trace, order = self._trace, np.array(self._trace.order)
        vocabularies = [str(trace.pool_of[index]) for index in trace.order]
        walks = walk(trace.prompts(), [b""] * len(order), vocabularies)
        covered = covered_elsewhere(
            trace.prompts(), prompt_matches(walks), vocabularies, counted_from=alone[order]
        )
        reached = alone.copy()
        reached[order] += covered
        return reached


def _chain(requests: Requests, settings: Sequence[Setting]) -> list[tuple[str, int]]:
    """From leaf-LRU to block-LRU in steps, where a study compares the two under one limited pool."""
    kinds = {
        setting.engine.cache: setting for setting in reversed(settings) if isinstance(setting, EngineSetting)
    }
    if not {RADIX, BLOCKS} <= kinds.keys() or requests.unit > 1:
        return []
    tree, blocks = kinds[RADIX], kinds[BLOCKS]
    capacity = tree.options.capacity
    if capacity is None:
        return []
    return eviction_chain(requests, tree.engine, blocks.engine, capacity)


def _reason(bucket: str, setting: Setting) -> str:
    if bucket == "order":
        return "this version simulates; it does not prescribe yet"
    if isinstance(setting, HostedSetting):
        return HOSTED_REASONS.get(bucket, "a hash trace shows no text beside the prefix")
    return {
        "ttl": "an engine's cache has no lifetime",
        "in_flight": "requests were served one after the other: none was in flight",
    }.get(
        bucket,
        "a hash trace shows no text beside the prefix" if bucket == "elsewhere" else "no cache, no loss",
    )
