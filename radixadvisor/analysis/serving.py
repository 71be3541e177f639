"""From a measurement to advice on serving: what the text cannot repair, and what each change of it gains."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from radixadvisor.analysis.pools import replicas_of
from radixadvisor.measure.hits import matches, served
from radixadvisor.results import CheckedRule, Finding, Prescription, ReplicaRow, Where
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    from radixadvisor.analysis.advice import Advice
    from radixadvisor.analysis.measure import Measured
    from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
    from radixadvisor.prescribe.serving import ServingFix

__all__ = ["facts_of", "replica_range", "with_serving"]

_FLEETS = (1, 2, 4, 8)


def with_serving(trace: Trace, found: Measured, advice: Advice, setting: Setting) -> Advice:
    """The advice with what serving explains behind it.

    The changes come behind the text fixes, those of the headline profile first: their marginal gains are
    measured on the log with all text fixes in it.
    """
    from radixadvisor.diagnose.ra5xx.registry import suspect
    from radixadvisor.prescribe.held import fixed_trace
    from radixadvisor.prescribe.serving import try_serving

    fixed = trace if advice.trial is None else fixed_trace(trace, advice.trial.after)
    facts = facts_of(trace, fixed, found, setting)
    suspects = suspect(facts)
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


def facts_of(trace: Trace, fixed: Trace, found: Measured, setting: Setting) -> Facts:
    """What the detectors of serving faults see; ``fixed`` is the log with all text fixes in it."""
    from radixadvisor.analysis.hosted import hosted_profile
    from radixadvisor.analysis.worlds import ApiWorld, BlockWorld, EngineWorld, Walked
    from radixadvisor.diagnose.ra5xx.facts import Facts
    from radixadvisor.diagnose.ra5xx.pools import waiting

    hosted = hosted_profile(trace)
    walked = Walked(trace, found.walks)
    mended = walked if fixed is trace else Walked(fixed)
    limit = engine(found.headline).scheduler.lpm_limit if hosted is None else None
    queued = limit is not None and waiting(trace, setting) > limit
    return Facts(
        trace,
        walks=found.walks,
        lengths=found.lengths,
        columns=found.ledger.columns,
        reuse=walked.reuse,
        fixed_reuse=lambda: mended.reuse,
        namespaces=walked.namespaces,
        replicas=replicas_of(trace, setting),
        times=walked.times,
        hosted=hosted,
        world=EngineWorld(walked, setting, queued=queued) if hosted is None else ApiWorld(walked, hosted),
        vllm=BlockWorld(walked),
        setting=setting,
        queued=queued,
    )


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
