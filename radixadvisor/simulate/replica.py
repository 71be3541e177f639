"""One engine of a fleet: a scheduler with its cache, and the requests that are on their way to it."""

from __future__ import annotations

import heapq
from math import inf

from radixengine.cache import PrefixCache
from radixengine.jobs import Job, Record
from radixengine.scheduler import Scheduler

from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import EngineProfile
from radixadvisor.simulate.result import Meter, Totals

__all__ = ["Replica"]


class Replica:
    """Serves what is sent to it, no earlier than it arrives."""

    def __init__(self, cache: PrefixCache, profile: EngineProfile, options: Options, totals: Totals) -> None:
        self.meter = Meter(cache, totals)
        self._scheduler = Scheduler(cache, options.cost, profile.scheduler, self.meter)
        self._inbox: list[tuple[float, int, Job]] = []
        self._sent = 0
        self._answered = 0

    @property
    def busy(self) -> bool:
        """Something waits, runs or is on its way."""
        return bool(self._inbox) or bool(self._scheduler.unfinished)

    @property
    def clock(self) -> float:
        """When the next step begins; inf if there is none to come."""
        if self._scheduler.unfinished:
            return self._scheduler.clock
        return max(self._scheduler.clock, self._inbox[0][0]) if self._inbox else inf

    @property
    def now(self) -> float:
        """When its last step ended."""
        return self._scheduler.clock

    @property
    def ended(self) -> int:
        """Requests finished or refused."""
        return len(self._scheduler.ended)

    @property
    def records(self) -> dict[int, Record]:
        """What happened to the requests so far, by index."""
        return self._scheduler.records

    def send(self, job: Job, arrival: float) -> None:
        """Let a job arrive."""
        self._sent += 1
        heapq.heappush(self._inbox, (arrival, self._sent, job))

    def step(self, horizon: float) -> None:
        """Take in what has arrived and run one step; decode runs ahead to ``horizon`` or the next arrival."""
        scheduler = self._scheduler
        if self._inbox:
            scheduler.wait_until(self._inbox[0][0])
        while self._inbox and self._inbox[0][0] <= scheduler.clock:
            arrival, _, job = heapq.heappop(self._inbox)
            scheduler.submit(job, arrival)
        if self._inbox:
            horizon = min(horizon, self._inbox[0][0])
        if scheduler.unfinished:
            scheduler.step(horizon)

    def load(self, now: float) -> int:
        """Requests sent and not answered by ``now``, which never goes back."""
        ended = self._scheduler.ended
        while self._answered < len(ended):
            record = ended[self._answered]
            if not record.refused and record.finished > now:
                break
            self._answered += 1
        return self._sent - self._answered
