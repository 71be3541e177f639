"""Hits without a model: the engine's own cache and scheduler over the same jobs."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from radixengine.cache import PrefixCache
from radixengine.cache import Sequence as Served
from radixengine.config import SchedulerConfig
from radixengine.executor import Batch, Executor, Outcome
from radixengine.jobs import Job
from radixengine.no_cache import NoCache
from radixengine.profile import RadixProfile
from radixengine.radix_cache import RadixCache
from radixengine.scheduler import Scheduler, Step
from radixengine.serial import serve

from radixadvisor.simulate.cost import LinearCost

__all__ = ["Setting", "Timed", "hits", "with_outputs"]


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

    def build(self) -> PrefixCache:
        """The empty cache."""
        if not self.cache:
            return NoCache(self.capacity, self.page)
        return RadixCache(self.capacity, RadixProfile(page_size=self.page, host_ratio=self.host_ratio))


class Timed:
    """An executor that takes as long for each batch as was measured for it, and knows no outputs."""

    def __init__(self, schedule: Iterable[Step]) -> None:
        self._steps = iter(schedule)
        self._seconds = LinearCost().step

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """One pass after the other, as a model decodes."""
        return 1

    def run(self, batch: Batch) -> Outcome:
        """The next step's seconds; behind the last one, its own once more."""
        step = next(self._steps, None)
        if step is not None:
            self._seconds = step.seconds
        return Outcome(self._seconds)


def hits(jobs: Sequence[Job], setting: Setting, executor: Executor | None = None) -> dict[int, int]:
    """Prompt tokens that the cache serves, by request; refused requests are left out."""
    cache = setting.build()
    if setting.clients == 1:
        sequences = [Served(job.rid, job.prompt, job.output, job.namespace, job.priority) for job in jobs]
        usable = (seq for seq in sequences if seq.prompt_len)
        return {done.rid: done.matched + done.host for done in serve(cache, usable) if done.admitted}
    scheduler = Scheduler(cache, executor or LinearCost(), setting.scheduler)
    records = scheduler.run(jobs, setting.clients)
    return {record.rid: record.matched for record in records if not record.refused}


def with_outputs(jobs: Iterable[Job], outputs: Mapping[int, bytes] | None = None) -> list[Job]:
    """The jobs with the outputs that a run gave; an output that is not known, and the rest of one that a full
    pool cut short, consists of a token that no other request has.
    """
    known = outputs or {}
    found = []
    for job in jobs:
        output = known.get(job.rid, b"")
        left = (job.max_new or 0) - len(output) // array("i").itemsize
        found.append(replace(job, output=output + array("i", [-1 - job.rid]).tobytes() * max(left, 0)))
    return found
