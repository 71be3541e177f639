"""Which prompt tokens the next step computes: ordering the queue, reserving room, cutting chunks."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from math import inf

from radixengine.cache import Match, PrefixCache
from radixengine.config import SchedulerConfig
from radixengine.executor import Chunk
from radixengine.jobs import Task
from radixengine.policy import defer_duplicates, policy_named
from radixengine.state import Share, State

Cut = tuple[Task, Chunk]


@dataclass(slots=True)
class _Budget:
    """What one step may still compute, and what is spoken for in the pool (tokens)."""

    chunk: float
    prefill: int
    reserved: float


class Admission:
    """Forms the prefill part of each step. Owns the queue's order; the cache's slots are taken here."""

    def __init__(self, cache: PrefixCache, config: SchedulerConfig, share: Share | None) -> None:
        self._cache = cache
        self._config = config
        self._share = share
        self._page = cache.page_size
        self._unit = cache.page_size if config.align_chunks else 1
        if config.chunk_tokens is not None and config.chunk_tokens < self._unit:
            raise ValueError(
                f"chunks of {config.chunk_tokens} tokens never hold a whole page of {self._unit}"
            )
        self._policy = policy_named(config.policy)
        self._rng = random.Random(config.seed)

    def impossible(self, task: Task) -> str:
        """Why the task can never be served by this pool, or the empty string."""
        tokens = task.seq.prompt_len
        if not tokens:
            return "the prompt is empty"
        need = self._ceil(tokens)
        if need > self._cache.capacity:
            pool = self._cache.capacity
            return f"a prompt of {tokens} tokens needs {need} tokens of KV; the pool holds {pool}"
        return ""

    def form(self, state: State, decoding: int) -> tuple[list[Cut], list[Task]]:
        """(chunks whose slots are taken, tasks that will never fit), for a step that also decodes
        ``decoding`` sequences.
        """
        config = self._config
        chunk = inf if config.chunk_tokens is None else config.chunk_tokens - decoding
        budget = _Budget(chunk, config.prefill_tokens - decoding, decoding)
        if self._share is not None:
            budget.reserved += self._share.outstanding(state.running)
        chunks: list[Cut] = []
        if state.partial is not None:
            cut = self._continue(state.partial, budget)
            if cut is None:
                return [], []
            chunks.append((state.partial, cut))
            if not cut.last:
                return chunks, []
        if not state.waiting or state.full:
            return chunks, []
        self._order(state)
        if config.visible_at_schedule:
            return self._admit_at_once(state, budget, chunks)
        return self._admit_together(state, budget, chunks)

    def _admit_at_once(
        self, state: State, budget: _Budget, chunks: list[Cut]
    ) -> tuple[list[Cut], list[Task]]:
        """Allocate and publish request by request: the next one can hit what this one will compute."""
        refused: list[Task] = []
        while (cut := self._next(state, budget, chunks)) is not None:
            task = state.waiting[0]
            if not self._cache.allocate(cut.seq, cut.tokens):
                self._cache.unlock(cut.seq)
                if not chunks and not state.running and state.partial is None:
                    refused.append(state.waiting.popleft())
                    continue
                state.full = True
                break
            self._cache.publish(cut.seq)
            state.epoch += 1
            self._note(state, task, cut, len(state.waiting))
            state.waiting.popleft()
            chunks.append((task, cut))
        return chunks, refused

    def _admit_together(
        self, state: State, budget: _Budget, chunks: list[Cut]
    ) -> tuple[list[Cut], list[Task]]:
        """Lock every request's match first, then take the slots of the whole batch."""
        first = len(chunks)
        alone = not chunks and not state.running
        while (cut := self._next(state, budget, chunks)) is not None:
            chunks.append((state.waiting.popleft(), cut))
        picked = chunks[first:]
        del chunks[first:]
        queue = len(state.waiting) + len(picked)
        back: list[Task] = []
        for task, cut in picked:
            if not back and self._cache.allocate(cut.seq, cut.tokens):
                self._note(state, task, cut, queue)
                chunks.append((task, cut))
            else:
                self._cache.unlock(cut.seq)
                back.append(task)
        if alone and not chunks and back:
            state.waiting.extendleft(reversed(back[1:]))
            return [], back[:1]
        if back:
            state.waiting.extendleft(reversed(back))
            state.full = True
        return chunks, []

    def _next(self, state: State, budget: _Budget, chunks: list[Cut]) -> Chunk | None:
        """Match the queue's head and cut its first chunk, or None (its lock undone) if it has to wait."""
        if not state.waiting or budget.chunk < self._unit or (chunks and budget.prefill <= 0):
            return None
        if len(state.running) + len(chunks) >= self._config.max_running:
            state.full = True
            return None
        task = state.waiting[0]
        task.found = found = self._cache.match(task.seq)
        size = self._ceil(task.seq.prompt_len - found.device)
        if not chunks and not state.running:
            quota = None
        elif self._share is not None:
            room = self._cache.occupancy()
            quota = int(room.free + room.evictable - budget.reserved)
            if size + self._share.whole(task) >= quota:
                state.full = True
                self._cache.unlock(task.seq)
                return None
        else:
            room = self._cache.occupancy()
            quota = room.free + room.evictable
        if chunks and size - found.host > budget.prefill:
            self._cache.unlock(task.seq)
            return None
        loaded = self._cache.load_back(task.seq, quota) if found.host else 0
        task.found = Match(found.device, loaded)
        start = found.device + loaded
        need = task.seq.prompt_len - start
        tokens = self._cut(need, budget)
        self._charge(task, tokens, budget, last=tokens == need)
        if not self._config.visible_at_schedule:
            budget.reserved += self._ceil(tokens)
        return Chunk(task.seq, start, tokens, tokens == need)

    def _continue(self, task: Task, budget: _Budget) -> Chunk | None:
        """The next chunk of a prompt that is partly computed; None while the pool has no room for it."""
        start = task.seq.computed
        need = task.seq.prompt_len - start
        tokens = self._cut(need, budget)
        if not tokens or not self._cache.allocate(task.seq, tokens):
            return None
        if self._config.visible_at_schedule:
            self._cache.publish(task.seq)
        self._charge(task, tokens, budget, last=tokens == need)
        return Chunk(task.seq, start, tokens, tokens == need)

    def _cut(self, need: int, budget: _Budget) -> int:
        if need <= budget.chunk:
            return need
        room = int(budget.chunk)
        return room // self._unit * self._unit

    def _charge(self, task: Task, tokens: int, budget: _Budget, *, last: bool) -> None:
        size = -(-tokens // self._unit) * self._unit
        budget.chunk -= size
        budget.prefill -= size
        if last and self._share is not None:
            budget.reserved += self._share.whole(task)

    def _note(self, state: State, task: Task, cut: Chunk, queue: int) -> None:
        record = task.record
        if record.retractions:
            record.recomputed += task.seq.prompt_len - cut.start
            return
        record.admitted = state.clock
        record.matched = cut.start
        record.host = task.found.host
        record.queue = queue

    def _order(self, state: State) -> None:
        """Sort the queue unless nothing changed that its order depends on."""
        policy, config = self._policy, self._config
        if policy.name == "fcfs" or (policy.limited and len(state.waiting) > config.lpm_limit):
            return
        if not policy.matches and not policy.shuffles and not state.unsorted:
            return
        if policy.matches:
            changed = state.unsorted
            for task in state.waiting:
                if task.matched_at != state.epoch:
                    task.found = self._look(task)
                    task.matched_at = state.epoch
                    changed = True
            if not changed:
                return
            defer_duplicates(state.waiting, config.dedup_check, config.dedup_match)
        state.waiting = deque(policy.order(list(state.waiting), self._rng, self._page))
        state.unsorted = False

    def _look(self, task: Task) -> Match:
        if not self._config.refresh_waiting:
            return self._cache.peek(task.seq)
        found = self._cache.match(task.seq)
        self._cache.unlock(task.seq)
        return found

    def _ceil(self, tokens: int) -> int:
        return -(-tokens // self._page) * self._page
