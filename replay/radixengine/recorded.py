"""A recorded schedule run again without a model: the same steps, taking the seconds that they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from radixengine.blocks import BlockCache
from radixengine.cache import PrefixCache
from radixengine.executor import Batch, Outcome
from radixengine.jobs import Job, Record
from radixengine.no_cache import NoCache
from radixengine.options import EngineOptions
from radixengine.radix_cache import RadixCache
from radixengine.results import EngineRun
from radixengine.scheduler import Scheduler, Step


class ScheduleDiverged(Exception):
    """The scheduler formed a batch that the record does not have at this point."""


class RecordedExecutor:
    """Takes each batch to be the next step of ``schedule``."""

    def __init__(self, schedule: Sequence[Step]) -> None:
        self._schedule = schedule
        self._next = 0

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """As many passes as were recorded."""
        return min(batch.steps, self._step().passes)

    def run(self, batch: Batch) -> Outcome:
        """The recorded seconds.

        Raises:
            ScheduleDiverged: the record has other chunks, other sequences or other passes here.
        """
        step = self._step()
        prefill = tuple((chunk.seq.rid, chunk.start, chunk.tokens) for chunk in batch.prefill)
        decode = tuple(seq.rid for seq in batch.decode)
        if (prefill, decode, batch.steps) != (step.prefill, step.decode, step.passes):
            raise ScheduleDiverged(f"step {self._next}: {prefill or decode}, recorded {step}")
        self._next += 1
        return Outcome(step.seconds)

    def _step(self) -> Step:
        if self._next == len(self._schedule):
            raise ScheduleDiverged(f"the record ends after {self._next} steps")
        return self._schedule[self._next]


def simulated_cache(options: EngineOptions) -> PrefixCache:
    """The cache that the options ask for, counting tokens only."""
    page = options.profile.page_size
    if options.cache == "none":
        return NoCache(options.capacity, page)
    if options.cache == "blocks":
        return BlockCache(options.capacity // page + 1, page)
    return RadixCache(options.capacity, options.profile)


def simulate_recorded(
    jobs: Sequence[Job],
    options: EngineOptions,
    run: EngineRun,
    *,
    at_arrivals: bool = False,
    in_flight: int | None = None,
) -> list[Record]:
    """What the simulator says of ``jobs`` when its steps take what those of ``run`` took.

    ``jobs`` and the way they are sent are those of ``run``; each one's output is what was generated then.

    Raises:
        ScheduleDiverged: engine and simulator part ways.
        ValueError: the run is not complete.
    """
    if not run.complete:
        raise ValueError("only a complete run can be simulated again")
    served = {record.rid for record in run.records if not record.refused}
    known = [as_served(job, run.outputs[job.rid]) for job in jobs if job.rid in served]
    scheduler = Scheduler(simulated_cache(options), RecordedExecutor(run.schedule), options.scheduler)
    return scheduler.run(paced(known, at_arrivals), in_flight)


def as_served(job: Job, output: bytes = b"") -> Job:
    """The job as the engine takes it: ``max_new`` tokens to generate, ``output`` if they are known."""
    return replace(job, output=output, max_new=output_tokens(job))


def output_tokens(job: Job) -> int:
    """Tokens that the engine generates for a job."""
    return len(job.output) // 4 if job.max_new is None else job.max_new


def paced(jobs: Sequence[Job], at_arrivals: bool) -> Sequence[Job]:
    """The jobs at their arrivals, or all of them at 0."""
    return jobs if at_arrivals else [replace(job, arrival=0.0) for job in jobs]
