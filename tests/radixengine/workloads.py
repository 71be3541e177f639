"""Small workloads and executors for tests of the scheduler."""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass

from radixengine.blocks import BlockCache
from radixengine.cache import PrefixCache
from radixengine.config import Reservation, SchedulerConfig
from radixengine.executor import Batch, Outcome
from radixengine.jobs import Job
from radixengine.no_cache import NoCache
from radixengine.radix_cache import RadixCache, RadixProfile

VLLM = SchedulerConfig(
    mixed=True,
    visible_at_schedule=True,
    reservation=None,
    retract_latest=True,
    align_chunks=False,
    chunk_tokens=64,
    prefill_tokens=10**9,
)


def pack(*tokens: int) -> bytes:
    return array("i", tokens).tobytes()


def run_of(first: int, count: int) -> bytes:
    """``count`` tokens that nothing else in a test has: first * 1000, first * 1000 + 1, ..."""
    return pack(*range(first * 1000, first * 1000 + count))


@dataclass(frozen=True)
class Clockwork:
    """Whole 1/64 seconds per pass, so that sums of times are exact. ``single`` never looks ahead."""

    single: bool = False
    prefill: float = 1 / 64

    def lookahead(self, batch: Batch, seconds: float) -> int:
        if self.single:
            return 1
        return int(max(1, min(batch.steps, -(-seconds // self._pass(batch)))))

    def run(self, batch: Batch) -> Outcome:
        return Outcome(self._pass(batch) * batch.steps)

    def _pass(self, batch: Batch) -> float:
        return 0.25 + self.prefill * sum(chunk.tokens for chunk in batch.prefill) + len(batch.decode) / 64


def random_jobs(rng: random.Random, count: int, *, spread: float = 8.0, vocabulary: int = 3) -> list[Job]:
    """Prompts that continue each other, with outputs of up to 40 tokens and arrivals on a grid."""
    seen: list[bytes] = [b""]
    jobs = []
    for rid in range(count):
        stem = rng.choice(seen)
        cut = rng.randint(0, len(stem) // 4) if rng.random() < 0.5 else len(stem) // 4
        fresh = pack(*(rng.randrange(vocabulary) for _ in range(rng.randint(1, 30))))
        prompt = stem[: 4 * min(cut, 60)] + fresh
        output = pack(*(rng.randrange(vocabulary) for _ in range(rng.choice([0, 1, 2, 5, 17, 40]))))
        seen += [prompt, prompt + output]
        arrival = rng.randint(0, int(spread * 4)) / 4
        jobs.append(Job(rid, prompt, output, arrival, rng.choice(["", "", "b"]), rng.randint(0, 2)))
    return sorted(jobs, key=lambda job: job.arrival)


def random_config(rng: random.Random) -> SchedulerConfig:
    """Any scheduler that the engines could be."""
    return SchedulerConfig(
        policy=rng.choice(["fcfs", "lpm", "dfs-weight", "lof", "random", "shortest-prefill-first"]),
        max_running=rng.choice([1, 3, 100]),
        chunk_tokens=rng.choice([None, 16, 32, 64]),
        prefill_tokens=rng.choice([32, 64, 1000]),
        align_chunks=rng.random() < 0.5,
        mixed=rng.random() < 0.4,
        visible_at_schedule=rng.random() < 0.3,
        reservation=rng.choice([None, Reservation(), Reservation(conservativeness=0.1, decay_steps=7)]),
        retract_latest=rng.random() < 0.4,
        cache_prompt_only=rng.random() < 0.2,
        lpm_limit=rng.choice([2, 128]),
        dedup_check=rng.choice([-1, 4]),
        dedup_match=4,
        refresh_waiting=rng.random() < 0.7,
        seed=7,
    )


def random_cache(rng: random.Random, capacity: int) -> PrefixCache:
    """A cache of about that many tokens."""
    page = rng.choice([1, 1, 4, 16])
    if rng.random() < 0.1:
        return NoCache(max(page, capacity), page)
    if rng.random() < 0.3:
        return BlockCache(max(2, capacity // page + 1), page)
    profile = RadixProfile(
        page_size=page,
        evict=rng.choice(["lru", "lru", "lfu", "fifo"]),
        shortfall=rng.random() < 0.7,
        host_ratio=rng.choice([0.0, 0.0, 2.0]),
    )
    return RadixCache(max(page, capacity), profile)
