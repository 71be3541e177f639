"""Room for running requests' next tokens: how far decode can run ahead, and who goes if there is none."""

from __future__ import annotations

from math import inf

from radixengine.cache import PrefixCache
from radixengine.config import SchedulerConfig
from radixengine.executor import Batch, Executor
from radixengine.jobs import Task
from radixengine.state import Share, State


class Decoding:
    """Takes slots for decode passes, and retracts requests until there are enough."""

    def __init__(
        self,
        cache: PrefixCache,
        executor: Executor,
        config: SchedulerConfig,
        share: Share | None,
        state: State,
    ) -> None:
        self._cache = cache
        self._executor = executor
        self._latest = config.retract_latest
        self._share = share
        self._state = state

    def passes(self, horizon: float) -> int:
        """Decode passes until a request ends, the pool runs dry, or an arrival could be admitted."""
        state = self._state
        if state.partial is not None or (state.waiting and not state.full):
            return 1
        low, high = 1, min(task.limit - task.emitted for task in state.running)
        room = self._room() - self._cache.page_size
        while low < high:
            middle = (low + high + 1) // 2
            if self._need(middle) <= room:
                low = middle
            else:
                high = middle - 1
        seconds = inf if state.full else horizon - state.clock
        return self._executor.lookahead(Batch((), tuple(task.seq for task in state.running), low), seconds)

    def take(self, passes: int) -> list[tuple[Task, int]]:
        """Take every running request's slots for its next passes, and say how many passes each got."""
        running = self._state.running
        counts = self._cache.decode_together([task.seq for task in running], passes)
        return list(zip(running, counts, strict=True))

    def make_room(self) -> list[int]:
        """Retract requests until all that stay can take one more decode pass; the rids of those gone."""
        state = self._state
        out: list[int] = []
        while len(state.running) + (state.partial is not None) > 1 and self._need(1) > self._room():
            if state.partial is not None and (self._latest or len(state.running) == 1):
                task, state.partial = state.partial, None
            else:
                task = state.running[-1] if self._latest else min(state.running, key=_progress)
                state.running.remove(task)
            self._cache.retract(task.seq)
            task.restart()
            if self._latest:
                state.waiting.appendleft(task)
            else:
                state.waiting.append(task)
            out.append(task.seq.rid)
        if out:
            state.full, state.unsorted = False, True
            state.epoch += 1
            if self._share is not None:
                self._share.retracted(state.running)
        return out

    def _need(self, passes: int) -> int:
        """Tokens of the pages that the running requests open in that many passes."""
        page = self._cache.page_size
        if page == 1:
            return len(self._state.running) * passes
        pages = 0
        for task in self._state.running:
            held = task.seq.computed
            pages += -(-(held + passes) // page) + -held // page
        return pages * page

    def _room(self) -> int:
        room = self._cache.occupancy()
        return room.free + room.evictable


def _progress(task: Task) -> tuple[int, int]:
    return task.before + task.emitted, -task.record.prompt_len
