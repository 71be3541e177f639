"""The engine: jobs in, tokens and measurements out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan

import numpy as np

from radixengine.attention import attention_named
from radixengine.blocks import BlockCache
from radixengine.host import host_tokens
from radixengine.jobs import Job, Record
from radixengine.measuring import Measured
from radixengine.memory import HostMemory, KVMemory
from radixengine.model import Decoder
from radixengine.options import EngineOptions
from radixengine.radix_cache import RadixCache
from radixengine.recorded import as_served, output_tokens, paced
from radixengine.results import EngineRun, PoolPeaks
from radixengine.runner import TorchExecutor
from radixengine.scheduler import Scheduler, Step
from radixengine.slots import cache_with_slots
from radixengine.threads import best_threads, using_threads

__all__ = ["Engine", "EngineOptions", "EngineRun"]


# Decode passes run in a row before the scheduler, progress and a wish to stop are heard again.
_AHEAD = 32


class _Stopped(Exception):
    """The caller wants the run to end."""


class Engine:
    """A model with a KV pool, serving jobs by the scheduler that the simulator uses too.

    ``threads``: CPU threads it runs on, as given or as found to be fastest.

    Raises:
        ValueError: the options name an unknown backend, or the device has no room for the pool.
    """

    def __init__(self, model: Decoder, options: EngineOptions) -> None:
        self.model = model
        self.options = options
        self._memory = KVMemory(model.shape, options.capacity, model.device, model.dtype)
        self._attention = attention_named(options.backend, self._memory)
        self._host: HostMemory | None = None
        if options.profile.host_ratio:
            tokens = host_tokens(options.capacity, options.profile)
            self._host = HostMemory(self._memory, model.shape, tokens)
        self.threads = options.threads or best_threads(model)

    def run(
        self,
        jobs: Sequence[Job],
        *,
        at_arrivals: bool = False,
        in_flight: int | None = None,
        progress: Callable[[int], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> EngineRun:
        """Serve the jobs from an empty cache.

        Each decodes greedily ``max_new`` tokens (default: the length of its ``output``; the recorded output
        itself is not forced, and no token ends it sooner). What is generated enters the cache. A job whose
        tokens or positions the model does not have is refused; the reason is in its record.

        Args:
            at_arrivals: jobs come at their ``arrival`` on the engine's clock, which skips idle time;
                otherwise all of them wait from the start, in the order given.
            in_flight: that many clients each send their next job when one ends; 1 serves one at a time.
            progress: called after every step with the number of jobs that ended.
            stopped: asked after every step; True ends the run with what is there, as KeyboardInterrupt does.

        Raises:
            ValueError: arrivals are out of order.
        """
        refused = {job.rid: reason for job in jobs if (reason := self._unservable(job))}
        fit = [as_served(job) for job in jobs if job.rid not in refused]
        longest = max((len(job.prompt) // 4 + output_tokens(job) for job in fit), default=1)
        longest = min(longest, self.options.capacity) + self.options.profile.page_size
        self.model.prepare(longest)
        rows = self.options.scheduler.max_running + 1
        cache, slots = cache_with_slots(self.options, rows, longest, self._host)
        # Blocks are hashed when they are scheduled, so that their tokens must be known by then.
        ahead = 1 if isinstance(cache, BlockCache) else _AHEAD
        executor = TorchExecutor(self.model, self._memory, slots, self._attention, self._host, ahead)
        measured = Measured(PoolPeaks(cache.capacity))

        def watch(step: Step) -> None:
            assert executor.last is not None
            measured.add(step, executor.last, cache.occupancy())
            if self.options.debug:
                _audit(cache, scheduler)
            if progress is not None:
                progress(len(scheduler.ended) + len(refused))
            if stopped is not None and stopped():
                raise _Stopped
            executor.tick()

        scheduler = Scheduler(cache, executor, self.options.scheduler, watch)
        loaded, load_seconds = self._loads()
        complete = True
        with using_threads(self.threads):
            executor.tick()
            try:
                scheduler.run(paced(fit, at_arrivals), in_flight)
            except (_Stopped, KeyboardInterrupt):
                complete = False
        loaded_now, load_seconds_now = self._loads()
        records = tuple(
            Record(job.rid, len(job.prompt) // 4, job.arrival, refused=refused[job.rid])
            if job.rid in refused
            else scheduler.records[job.rid]
            for job in jobs
            if job.rid in refused or job.rid in scheduler.records
        )
        outputs = {job.rid: measured.output(job.rid, output_tokens(job)) for job in fit}
        for record in records:
            # An interrupt came between the end of a request and the note of its last step.
            if not isnan(record.finished) and record.emitted > len(outputs[record.rid][1]):
                record.finished = nan
        return EngineRun(
            records=records,
            outputs={rid: tokens for rid, (tokens, _, _) in outputs.items()},
            gaps={rid: gaps for rid, (_, gaps, _) in outputs.items()},
            token_times={rid: times for rid, (_, _, times) in outputs.items()},
            seconds=scheduler.clock,
            prefill_seconds=measured.prefill_seconds,
            decode_seconds=measured.decode_seconds,
            prefill_tokens=measured.prefill_tokens,
            decode_tokens=measured.decode_tokens,
            request_prefill=measured.request_prefill,
            peaks=measured.peaks,
            evicted_tokens=cache.evicted,
            retractions=sum(record.retractions for record in records),
            loaded_tokens=loaded_now - loaded,
            load_seconds=load_seconds_now - load_seconds,
            schedule=tuple(measured.schedule),
            complete=complete,
            threads=self.threads,
            backend=self._attention.name,
        )

    def _unservable(self, job: Job) -> str:
        """Why the model could not serve the job, or the empty string. Random weights take any token."""
        shape = self.model.shape
        tokens = np.frombuffer(job.prompt, np.int32)
        if self.model.folds or not len(tokens):
            return ""
        if tokens.min() < 0 or tokens.max() >= shape.vocab:
            return f"the prompt has tokens outside {shape.name}'s vocabulary of {shape.vocab}"
        if len(tokens) + output_tokens(job) > shape.max_position:
            return f"{len(tokens)} + {output_tokens(job)} tokens exceed {shape.name}'s {shape.max_position}"
        return ""

    def _loads(self) -> tuple[int, float]:
        return (self._host.loaded, self._host.seconds) if self._host is not None else (0, 0.0)


def _audit(cache: RadixCache | BlockCache, scheduler: Scheduler) -> None:
    if isinstance(cache, BlockCache):
        cache.audit()
        return
    state = scheduler.state
    tasks = [*state.running, *([state.partial] if state.partial is not None else [])]
    cache.audit([task.seq for task in tasks])
