"""From a measurement to advice on serving: what the text cannot repair, and what each change of it gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from radixadvisor.analysis.pools import replicas_of
from radixadvisor.measure.hits import matches, served
from radixadvisor.records import EditSpec
from radixadvisor.results import CheckedRule, Finding, Prescription, ReplicaRow, Where
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from radixadvisor.analysis.advice import Advice
    from radixadvisor.analysis.measure import Measured
    from radixadvisor.analysis.worlds import Known
    from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect, World
    from radixadvisor.prescribe.serving import ServingFix
    from radixadvisor.simulate.hosted_profiles import HostedProfile

    Counts = NDArray[np.int64]

__all__ = ["replica_range", "with_serving"]

_FLEETS = (1, 2, 4, 8)


def with_serving(trace: Trace, found: Measured, advice: Advice, setting: Setting) -> Advice:
    """The advice with what serving explains behind it.

    The changes come behind the text fixes, those of the headline profile first: their marginal gains are
    measured on the log with all text fixes in it.
    """
    from radixadvisor.analysis.worlds import Known, Walked
    from radixadvisor.diagnose.ra5xx.registry import suspect, suspect_behind
    from radixadvisor.prescribe.held import fixed_trace
    from radixadvisor.prescribe.serving import try_serving

    fixed = trace if advice.trial is None else fixed_trace(trace, advice.trial.after)
    known = Known(Walked(trace, found.walks))
    worlds = _worlds(known, trace, found, setting)
    facts = _facts(known, trace, worlds, found.ledger.columns, setting, lambda: known.of(fixed).reuse)
    suspects = suspect(facts)
    if fixed is not trace:
        columns = _columns(worlds[0], fixed, facts.hosted)
        behind = _facts(known, fixed, worlds, columns, setting, lambda: known.of(fixed).reuse)
        suspects += suspect_behind(behind, {item.rule for item in suspects})
    findings = [_finding(item, None) for item in suspects if item.change is None]
    prescriptions, checked = list(advice.prescriptions), list(advice.checked)
    serving = {}
    for world in (facts.world, facts.vllm):
        own = [item for item in suspects if item.profile == world.name]
        trial = try_serving(world, trace, fixed, own)
        for fix in trial.applied:
            number = f"P{len(prescriptions) + 1}"
            prescriptions.append(_prescription(number, fix))
            serving[number] = world.serve(trace), world.serve(trace, (fix.spec,))
            findings += [_finding(item, number) for item in fix.suspects]
        checked += [
            CheckedRule(item.rule, item.title, fix.marginal, fix.alone)
            for fix in trial.rejected
            for item in fix.suspects
        ]
    return replace(
        advice,
        findings=tuple(sorted((*advice.findings, *findings), key=_rank)),
        prescriptions=tuple(prescriptions),
        checked=tuple(checked),
        serving=serving,
    )


def _worlds(known: Known, trace: Trace, found: Measured, setting: Setting) -> tuple[World, World]:
    """The headline's cache and the block cache beside it."""
    from radixadvisor.analysis.hosted import hosted_profile
    from radixadvisor.analysis.worlds import ApiWorld, BlockWorld, EngineWorld

    hosted = hosted_profile(trace)
    if hosted is not None:
        return ApiWorld(known, hosted), BlockWorld(known)
    return EngineWorld(known, setting, queued=_queued(trace, setting)), BlockWorld(known)


def _queued(trace: Trace, setting: Setting) -> bool:
    """Whether more requests wait than the headline engine sorts."""
    from radixadvisor.analysis.measure import ENGINE
    from radixadvisor.diagnose.ra5xx.pools import waiting

    limit = engine(ENGINE).scheduler.lpm_limit
    return limit is not None and waiting(trace, setting) > limit


def _facts(
    known: Known,
    trace: Trace,
    worlds: tuple[World, World],
    columns: dict[str, Counts | None],
    setting: Setting,
    fixed_reuse: Callable[[], Counts],
) -> Facts:
    from radixadvisor.analysis.hosted import hosted_profile
    from radixadvisor.diagnose.ra5xx.facts import Facts

    walked = known.of(trace)
    hosted = hosted_profile(trace)
    return Facts(
        trace,
        walks=walked.walks,
        lengths=walked.lengths,
        columns=columns,
        reuse=walked.reuse,
        fixed_reuse=fixed_reuse,
        namespaces=walked.namespaces,
        replicas=replicas_of(trace, setting),
        times=walked.times,
        hosted=hosted,
        world=worlds[0],
        vllm=worlds[1],
        setting=setting,
        queued=hosted is None and _queued(trace, setting),
    )


def _columns(world: World, trace: Trace, hosted: HostedProfile | None) -> dict[str, Counts | None]:
    """What a log loses to time and place, by lifting one after the other in its headline's cache."""
    import numpy as np

    lifts = ("one_cache", "warm_first") if hosted is None else ("keep_alive", "warm_first")
    names = ("replicas", "in_flight") if hosted is None else ("ttl", "in_flight")
    reached = world.serve(trace).served
    columns: dict[str, Counts | None] = {"served": reached}
    changes: tuple[EditSpec, ...] = ()
    for name, lift in zip(names, lifts, strict=True):
        changes = (*changes, EditSpec(lift, "review", ()))
        after = np.maximum(world.serve(trace, changes).served, reached)
        columns[name], reached = after - reached, after
    return columns


def replica_range(trace: Trace, found: Measured, setting: Setting) -> tuple[ReplicaRow, ...]:
    """Hit rates if several replicas with caches of their own took turns, where nothing tells of any; empty
    where the log or the user does, or a hosted API served the log.
    """
    if found.headline not in ("sglang",) or replicas_of(trace, setting) is not None or len(found.lengths) < 2:
        return ()
    import numpy as np

    spaces = np.unique([trace.namespace(index) for index in trace.order], return_inverse=True)[1]
    page = -(-engine(found.headline).page // trace.unit) * trace.unit
    total = int(found.lengths.sum())
    rows = []
    for count in _FLEETS:
        groups = (spaces * count + np.arange(len(spaces)) % count).tolist()
        tokens = np.minimum(matches(found.walks, groups) * trace.unit, found.lengths)
        rows.append(ReplicaRow(count, int(served(tokens, found.lengths, page).sum()) / total))
    return tuple(rows)


def _rank(finding: Finding) -> tuple[bool, int, str]:
    return finding.severity == "low", -finding.lost_tokens, finding.rule


def _finding(item: Suspect, fix: str | None) -> Finding:
    from radixadvisor.diagnose.rules import rule

    place = item.place
    return Finding(
        rule=item.rule,
        kind="explanation" if fix is None else "fix",
        profile=item.profile,
        title=item.title,
        severity=rule(item.rule).severity,
        where=Where(place.request_id, place.path, place.start, place.end),
        before=item.before,
        after=item.after,
        requests=len(item.requests),
        lost_tokens=item.lost_tokens,
        fix=fix,
        rates=item.rates,
    )


def _prescription(number: str, fix: ServingFix) -> Prescription:
    from radixadvisor.prescribe.serving import setting_of, words_of_serving

    return Prescription(
        id=number,
        rules=tuple(Counter(item.rule for item in fix.suspects)),
        title=words_of_serving(fix.spec),
        edit="serving",
        safety=fix.spec.safety,
        alone_tokens=fix.alone,
        marginal_tokens=fix.marginal,
        marginal_interval=fix.interval,
        rate_after=fix.rate,
        hit_tokens=fix.hits,
        prompt_tokens=fix.length,
        applications=(),
        spec=fix.spec,
        profile=fix.profile,
        setting=setting_of(fix.spec, fix.profile),
    )
