"""Hits without a model: the engine's own cache and scheduler over the same jobs."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from radixengine.cache import Sequence as Served
from radixengine.config import SchedulerConfig
from radixengine.jobs import Job, Record
from radixengine.options import EngineOptions
from radixengine.profile import RadixProfile
from radixengine.recorded import simulate_recorded, simulated_cache
from radixengine.results import EngineRun
from radixengine.scheduler import Scheduler
from radixengine.serial import serve

from radixadvisor.simulate.cost import LinearCost

__all__ = ["Setting", "expected_hits", "recorded_hits", "with_outputs"]


@dataclass(frozen=True, slots=True)
class Setting:
    """How one run serves its jobs. ``clients``: how many requests are in flight, 1 strictly one after the
    other; None follows arrivals.
    """

    cache: bool
    capacity: int
    page: int
    host_ratio: float
    scheduler: SchedulerConfig
    clients: int | None

    @property
    def label(self) -> str:
        """``off``, or the policy."""
        return self.scheduler.policy if self.cache else "off"

    def engine(self, backend: str = "auto", threads: int | None = None) -> EngineOptions:
        """The same for an engine.

        Raises:
            ValueError: no engine can serve so.
        """
        return EngineOptions(
            capacity=self.capacity,
            cache="radix" if self.cache else "none",
            profile=RadixProfile(page_size=self.page, host_ratio=self.host_ratio if self.cache else 0.0),
            scheduler=self.scheduler,
            backend=backend,
            threads=threads,
        )


def expected_hits(jobs: Sequence[Job], setting: Setting) -> dict[int, int]:
    """Prompt tokens that the cache serves, by request; refused requests are left out.

    Jobs one after the other are served whole, as ``simulate --concurrency 1`` does; others by the scheduler
    on a virtual clock. Outputs that are not known consist of tokens that no other request has.
    """
    cache = simulated_cache(setting.engine())
    told = with_outputs(jobs)
    if setting.clients == 1:
        sequences = (
            Served(job.rid, job.prompt, job.output, job.namespace, job.priority) for job in told if job.prompt
        )
        return {done.rid: done.matched + done.host for done in serve(cache, sequences) if done.admitted}
    scheduler = Scheduler(cache, LinearCost(), setting.scheduler)
    return _matched(scheduler.run(told, setting.clients))


def recorded_hits(jobs: Sequence[Job], setting: Setting, run: EngineRun) -> dict[int, int]:
    """The same with the outputs of a run and, unless jobs are served one after the other, its schedule.

    Raises:
        ScheduleDiverged: the simulated scheduler forms other batches than the engine's did.
    """
    if setting.clients == 1:
        return expected_hits(with_outputs(jobs, run.outputs), setting)
    arrivals = setting.clients is None
    return _matched(
        simulate_recorded(jobs, setting.engine(), run, at_arrivals=arrivals, in_flight=setting.clients)
    )


def _matched(records: Iterable[Record]) -> dict[int, int]:
    return {record.rid: record.matched for record in records if not record.refused}


def with_outputs(jobs: Iterable[Job], outputs: Mapping[int, bytes] | None = None) -> list[Job]:
    """The jobs with the outputs that a run gave; an output that is not known, and the rest of one that a full
    pool cut short, consists of a token that no other request has.
    """
    known = outputs or {}
    found = []
    for job in jobs:
        output = known.get(job.rid, job.output)
        left = (job.max_new or 0) - len(output) // array("i").itemsize
        found.append(replace(job, output=output + array("i", [-1 - job.rid]).tobytes() * max(left, 0)))
    return found
