"""A request on its way through the scheduler: as submitted, as it is served, and what is remembered of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan

from radixengine.cache import TOKEN_BYTES, Match, Sequence


@dataclass(frozen=True, slots=True)
class Job:
    """A request to serve. ``prompt`` and ``output`` are packed int32.

    ``output`` is what the request generates where that is known; without it the executor samples up to
    ``max_new`` tokens. ``max_new`` is also what the engine reserves for (default: the length of
    ``output``). ``bypass``: a block cache looks nothing up for it.
    """

    rid: int
    prompt: bytes
    output: bytes = b""
    arrival: float = 0.0
    namespace: str = ""
    priority: int = 0
    max_new: int | None = None
    bypass: bool = False


@dataclass(slots=True, eq=False)
class Record:
    """What happened to one request; times in seconds on the scheduler's clock, nan while they are to come.

    ``matched`` counts the prompt tokens taken from the cache at the first admission, ``host`` of them
    loaded back from a host tier; ``recomputed`` the tokens computed once more after retractions. ``queue``
    is the number of requests waiting when this one was admitted, itself included. ``truncated``: the pool
    cut the output short.
    """

    rid: int
    prompt_len: int
    arrival: float
    admitted: float = nan
    first_token: float = nan
    finished: float = nan
    matched: int = 0
    host: int = 0
    recomputed: int = 0
    emitted: int = 0
    queue: int = 0
    retractions: int = 0
    truncated: bool = False
    refused: str = ""


@dataclass(slots=True, eq=False)
class Task:
    """A request inside the scheduler. ``limit`` is the number of output tokens it still has to emit in this
    life (a retraction starts a new one, with what was emitted moved into the prompt), ``emitted`` those it
    has, ``before`` those of earlier lives. ``found`` is its match, as of the scheduler's epoch
    ``matched_at``.
    """

    seq: Sequence
    record: Record
    order: int
    limit: int
    reserve: int
    emitted: int = 0
    before: int = 0
    found: Match = field(default=Match(0, 0))
    matched_at: int = -1
    deferred: bool = False

    @classmethod
    def of(cls, job: Job, order: int, prompt_only: bool) -> Task:
        """The task of a new job."""
        seq = Sequence(job.rid, job.prompt, job.output, job.namespace, job.priority)
        seq.cache_prompt_only, seq.bypass = prompt_only, job.bypass
        limit = seq.output_len or job.max_new or 0
        reserve = limit if job.max_new is None else job.max_new
        return cls(seq, Record(job.rid, seq.prompt_len, job.arrival), order, limit, reserve)

    @property
    def reserve_left(self) -> int:
        """Output tokens that the engine has to expect."""
        return max(self.reserve - self.emitted, 0)

    def restart(self) -> None:
        """Begin anew after a retraction: what was emitted now belongs to the prompt."""
        old, cut = self.seq, self.emitted * TOKEN_BYTES
        self.seq = Sequence(
            old.rid, old.prompt + old.output[:cut], old.output[cut:], old.namespace, old.priority
        )
        self.seq.cache_prompt_only, self.seq.bypass = old.cache_prompt_only, old.bypass
        self.limit -= self.emitted
        self.reserve = self.reserve_left
        self.before += self.emitted
        self.emitted = 0
        self.matched_at = -1
        self.record.retractions += 1
