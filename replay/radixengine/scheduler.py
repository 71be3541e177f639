"""Continuous batching over any prefix cache, on the clock that the executor's seconds advance.

One ``step`` is one forward pass, or a run of decode passes during which nothing else can happen: no request
ends, none arrives that could be admitted, and the pool has room for all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf, isnan
from typing import NamedTuple

from radixengine.admission import Admission, Cut
from radixengine.cache import PrefixCache
from radixengine.config import SchedulerConfig
from radixengine.decoding import Decoding
from radixengine.executor import Batch, Executor, Outcome
from radixengine.jobs import Job, Record, Task
from radixengine.state import Share, State


class Step(NamedTuple):
    """One entry of the schedule: when it began, how long it took, the chunks ``(rid, start, tokens)`` it
    prefilled, the requests it decoded ``passes`` times, those that were retracted before it, and the tokens
    of the pool that running requests used.
    """

    start: float
    seconds: float
    prefill: tuple[tuple[int, int, int], ...]
    decode: tuple[int, ...]
    passes: int
    retracted: tuple[int, ...]
    in_use: int


class Scheduler:
    """Serves jobs from one cache with one executor.

    ``watch`` is called with every step once it is complete. ``records`` holds every submitted request by
    its rid, ``ended`` those that were finished or refused, in that order.
    """

    def __init__(
        self,
        cache: PrefixCache,
        executor: Executor,
        config: SchedulerConfig | None = None,
        watch: Callable[[Step], None] | None = None,
    ) -> None:
        self.cache = cache
        self.config = config or SchedulerConfig()
        self.records: dict[int, Record] = {}
        self.state = State()
        self._executor = executor
        self._share = Share(self.config.reservation) if self.config.reservation else None
        self._admission = Admission(cache, self.config, self._share)
        self._decoding = Decoding(cache, executor, self.config, self._share, self.state)
        self._watch = watch
        self.ended: list[Record] = []

    @property
    def clock(self) -> float:
        """Seconds since the start."""
        return self.state.clock

    @property
    def unfinished(self) -> int:
        """Requests that wait or run."""
        return len(self.records) - len(self.ended)

    def submit(self, job: Job, arrival: float | None = None) -> None:
        """Queue a job; one that can never fit is refused at once, with the reason in its record.

        ``arrival`` overrides the job's own.
        """
        task = Task.of(job, len(self.records), self.config.cache_prompt_only)
        if job.rid in self.records:
            raise ValueError(f"request {job.rid} was submitted before")
        self.records[job.rid] = task.record
        if arrival is not None:
            task.record.arrival = arrival
        if reason := self._admission.impossible(task):
            self._refuse(task, reason)
            return
        ready = task.record.arrival + self.cache.prefetch(task.seq)
        if ready > self.state.clock:
            heappush(self.state.fetching, (ready, task.order, task))
            return
        self.state.waiting.append(task)
        self.state.unsorted = True

    def run(self, jobs: Iterable[Job], in_flight: int | None = None) -> list[Record]:
        """Serve jobs that come in order of arrival, each drawn when it is due; their records in that order.

        With ``in_flight`` arrivals are ignored: that many clients each send their next request when one
        ends.

        Raises:
            ValueError: an arrival lies before the previous one.
        """
        coming = iter(jobs)
        following = next(coming, None)
        rids: list[int] = []
        state = self.state
        while following is not None or self.unfinished:
            horizon = inf
            while following is not None and (
                self.unfinished < in_flight
                if in_flight
                else following.arrival <= state.clock or not self.unfinished
            ):
                if not in_flight:
                    self.wait_until(following.arrival)
                self.submit(following, state.clock if in_flight else None)
                rids.append(following.rid)
                before, following = following, next(coming, None)
                if following is not None and not in_flight and following.arrival < before.arrival:
                    raise ValueError(f"request {following.rid} arrives before its predecessor {before.rid}")
            if following is not None and not in_flight:
                horizon = following.arrival
            if self.unfinished:
                self.step(horizon)
        return [self.records[rid] for rid in rids]

    def wait_until(self, clock: float) -> None:
        """Let time pass while nothing is being served."""
        if not self.unfinished:
            self.state.clock = max(self.state.clock, clock)

    def step(self, horizon: float = inf) -> None:
        """Run the next forward pass. ``horizon``: the clock time of the next arrival, if one is to come."""
        state = self.state
        if not state.running and state.partial is None:
            state.full = False
            if not state.waiting and state.fetching:
                state.clock = max(state.clock, min(state.fetching[0][0], horizon))
        while state.fetching and state.fetching[0][0] <= state.clock:
            state.waiting.append(heappop(state.fetching)[2])
            state.unsorted = True
        if state.fetching:
            horizon = min(horizon, state.fetching[0][0])
        wanted = state.partial is not None or (bool(state.waiting) and not state.full)
        retracted: list[int] = []
        decode: list[tuple[Task, int]] = []
        if wanted and self.config.mixed and state.running:
            retracted = self._decoding.make_room()
            decode = self._take(1)
        cuts: list[Cut] = []
        if wanted and not retracted:
            cuts, refused = self._admission.form(state, len(decode))
            for task in refused:
                self._refuse(task, self._too_small(task))
        passes = 1
        if not cuts and not decode and state.running:
            retracted += self._decoding.make_room()
            passes = self._decoding.passes(horizon)
            decode = self._take(passes)
        if cuts or decode:
            self._forward(cuts, decode, passes, retracted)
        elif state.partial is not None and not state.running:
            task, state.partial = state.partial, None
            self.cache.retract(task.seq)
            self._refuse(task, self._too_small(task))
        if self._share is not None and not self.unfinished:
            self._share.reset()

    def _forward(
        self, cuts: list[Cut], decode: list[tuple[Task, int]], passes: int, retracted: list[int]
    ) -> None:
        state = self.state
        start = state.clock
        chunks = tuple(chunk for _, chunk in cuts)
        outcome = self._executor.run(Batch(chunks, tuple(task.seq for task, _ in decode), passes))
        state.clock += outcome.seconds
        if decode and self._share is not None:
            self._share.decoded(passes)
        done: list[Task] = []
        for task, taken in decode:
            task.emitted += taken
            if taken < passes:
                task.record.truncated = True
            if task.emitted >= task.limit or taken < passes:
                done.append(task)
        for task, chunk in cuts:
            if not self.config.visible_at_schedule:
                self.cache.publish(chunk.seq)
                state.epoch += 1
            if not chunk.last:
                state.partial = task
                continue
            if task is state.partial:
                state.partial = None
            if not task.before:
                task.record.first_token = state.clock
            state.running.append(task)
            task.emitted = min(task.limit, 1)
            if task.emitted >= task.limit:
                done.append(task)
        if outcome.tokens is not None:
            done = self._sampled(outcome, done)
        room = self.cache.occupancy()
        for task in done:
            self._finish(task)
        if done:
            state.running = [task for task in state.running if isnan(task.record.finished)]
        if self._watch is not None:
            prefill = tuple((chunk.seq.rid, chunk.start, chunk.tokens) for chunk in chunks)
            rids = tuple(task.seq.rid for task, _ in decode)
            in_use = room.protected + room.held
            self._watch(Step(start, outcome.seconds, prefill, rids, passes, tuple(retracted), in_use))

    def _take(self, passes: int) -> list[tuple[Task, int]]:
        """Slots for the next decode passes of every running request; those that get none end here."""
        taken = self._decoding.take(passes)
        for task, count in taken:
            if not count:
                task.record.truncated = True
                self._finish(task)
        self.state.running = [task for task, count in taken if count]
        return [(task, count) for task, count in taken if count]

    def _sampled(self, outcome: Outcome, done: list[Task]) -> list[Task]:
        """Append what the executor sampled; those that are done, a stop token included."""
        assert outcome.tokens is not None
        for task in self.state.running:
            task.seq.output += outcome.tokens.get(task.seq.rid, b"")
        return done + [
            task for task in self.state.running if task.seq.rid in outcome.ended and task not in done
        ]

    def _finish(self, task: Task) -> None:
        self.cache.finish(task.seq)
        task.record.finished = self.state.clock
        task.record.emitted = task.before + task.emitted
        self.ended.append(task.record)
        self.state.full = False
        self.state.epoch += 1

    def _refuse(self, task: Task, reason: str) -> None:
        """Give up on a task that no state of the pool could serve; what it emitted before stays emitted."""
        record = task.record
        self.ended.append(task.record)
        if task.before:
            record.truncated, record.emitted, record.finished = True, task.before, self.state.clock
        else:
            record.refused = reason

    def _too_small(self, task: Task) -> str:
        room = self.cache.occupancy()
        return (
            f"a prompt of {task.seq.prompt_len} tokens does not fit: {room.free + room.evictable} "
            f"of the pool's {room.total} tokens can be freed"
        )
