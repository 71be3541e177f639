"""From an engine's run to the figures of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from radixengine.cache import TOKEN_BYTES
from radixengine.jobs import Job, Record
from radixengine.recorded import ScheduleDiverged
from radixengine.shapes import ModelShape

from radixadvisor.predict.points import step_points
from radixadvisor.replaying.expected import Setting, recorded_hits
from radixadvisor.replaying.results import Agreement, PoolUse, RunResult, Spread, Times

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from radixengine.results import EngineRun

__all__ = ["HIT_SHARE", "flops_of", "result_of", "typical"]

HIT_SHARE = 0.5
"""A request counts as a hit if this share of its prompt, or more, came from the cache."""


def typical(runs: Sequence[EngineRun]) -> EngineRun:
    """The repeat with the median prefill, the lower one of two."""
    return sorted(runs, key=lambda run: run.prefill_seconds)[(len(runs) - 1) // 2]


def flops_of(shape: ModelShape, jobs: Iterable[Job], served: Mapping[int, int]) -> float:
    """FLOPs of the prefill of the requests in ``served``, which holds their hits."""
    total = 0.0
    for job in jobs:
        if job.rid in served:
            length = len(job.prompt) // TOKEN_BYTES
            total += shape.prefill_flops(length - served[job.rid], served[job.rid])
    return total


def result_of(
    order: str,
    setting: Setting,
    jobs: Sequence[Job],
    runs: Sequence[EngineRun],
    expected: Mapping[int, int],
    shape: ModelShape,
    agreement: Agreement | None,
) -> RunResult:
    """The figures of one setting, made ``len(runs)`` times. Of a run that was stopped only the requests that
    had ended count.

    Args:
        expected: hits by request, as simulated beforehand.
        agreement: tokens compared with those of the run without a cache.
    """
    run = typical(runs)
    done = [record for record in run.records if not isnan(record.finished) and not record.refused]
    measured = {record.rid: record.matched for record in done}
    told = {rid: expected.get(rid, 0) for rid in measured}
    recorded, unrecorded = None, "the run was stopped"
    if run.complete:
        try:
            recorded, unrecorded = recorded_hits(jobs, setting, run), ""
        except ScheduleDiverged as parting:
            unrecorded = f"the simulation forms other batches than the engine did: {parting}"
    return RunResult(
        order=order,
        policy=setting.label,
        cache=setting.cache,
        requests=len(done),
        refused=dict(sorted(Counter(record.refused for record in run.records if record.refused).items())),
        truncated=sum(record.truncated for record in done),
        prompt_tokens=sum(record.prompt_len for record in done),
        hit_tokens=sum(measured.values()),
        host_tokens=sum(record.host for record in done),
        computed_tokens=run.prefill_tokens,
        recomputed_tokens=sum(record.recomputed for record in done),
        output_tokens=sum(record.emitted for record in done),
        flops=flops_of(shape, jobs, measured),
        predicted_flops=flops_of(shape, jobs, told),
        times=tuple(Times(one.seconds, one.prefill_seconds, one.decode_seconds) for one in runs),
        ttft=_first_tokens(done),
        latency=_spread(_between(run.token_times, measured)),
        pool=PoolUse(
            capacity=run.peaks.capacity,
            used=run.peaks.used,
            running=run.peaks.running,
            evictable=run.peaks.evictable,
            evicted=run.evicted_tokens,
            loaded=run.loaded_tokens,
            retractions=run.retractions,
        ),
        predicted_tokens=sum(told.values()),
        recorded_tokens=None if recorded is None else sum(recorded.values()),
        deviating=None
        if recorded is None
        else sum(recorded.get(rid) != tokens for rid, tokens in measured.items()),
        unrecorded=unrecorded,
        agreement=agreement,
        complete=all(one.complete for one in runs),
        points=step_points(run.schedule),
    )


def _first_tokens(done: Sequence[Record]) -> dict[str, Spread | None]:
    import numpy as np

    seconds = np.array([record.first_token - record.arrival for record in done])
    hit = np.array([record.matched >= HIT_SHARE * record.prompt_len for record in done], np.bool_)
    return {"all": _spread(seconds), "hit": _spread(seconds[hit]), "miss": _spread(seconds[~hit])}


def _between(times: Mapping[int, NDArray[np.float64]], done: Mapping[int, int]) -> NDArray[np.float64]:
    """Seconds between the tokens of each request that ended."""
    import numpy as np

    return np.concatenate([np.empty(0), *(np.diff(times[rid]) for rid in done if rid in times)])


def _spread(seconds: NDArray[np.float64]) -> Spread | None:
    import numpy as np

    if not len(seconds):
        return None
    middle, high, highest = (float(value) for value in np.quantile(seconds, (0.5, 0.95, 0.99)))
    return Spread(len(seconds), middle, high, highest)
