"""A long random life of one engine: every slot accounted for after every step, none lost in the end."""

from __future__ import annotations

from array import array
from dataclasses import replace
from random import Random

import pytest
from radixengine.attention import attention_named
from radixengine.blocks import BlockCache
from radixengine.config import Reservation, SchedulerConfig
from radixengine.engine import Engine, EngineOptions
from radixengine.host import host_tokens
from radixengine.jobs import Job
from radixengine.memory import HostMemory, KVMemory
from radixengine.model import Decoder
from radixengine.profile import RadixProfile
from radixengine.radix_cache import RadixCache
from radixengine.runner import TorchExecutor
from radixengine.scheduler import Scheduler
from radixengine.shapes import ModelShape
from radixengine.slots import cache_with_slots
from radixengine.weights import random_model

SHAPE = ModelShape("soak", 2, 32, 2, 1, 16, 48, 64)
LONGEST = 140


def random_options(rng: Random) -> EngineOptions:
    """Any engine whose pool is under pressure."""
    kind = rng.choice(["radix", "radix", "radix", "blocks", "none"])
    page = rng.choice([1, 1, 4, 16])
    radix = kind == "radix"
    profile = RadixProfile(
        page_size=page,
        evict=rng.choice(["lru", "lfu", "slru", "fifo", "priority"]) if radix else "lru",
        shortfall=rng.random() < 0.7,
        prompt_only=radix and rng.random() < 0.2,
        host_ratio=rng.choice([0.0, 0.5, 2.0]) if radix else 0.0,
        host_write=rng.choice(["write_through", "write_through_selective", "write_back"]),
    )
    scheduler = SchedulerConfig(
        policy=rng.choice(["fcfs", "lpm", "dfs-weight", "lof", "random", "shortest-prefill-first"]),
        max_running=rng.choice([2, 5, 64]),
        chunk_tokens=rng.choice([None, 16, 64]),
        prefill_tokens=rng.choice([32, 1000]),
        align_chunks=rng.random() < 0.5,
        mixed=rng.random() < 0.5,
        visible_at_schedule=kind == "blocks",
        reservation=rng.choice([None, None, Reservation(conservativeness=0.1)]),
        retract_latest=rng.random() < 0.5,
        cache_prompt_only=rng.random() < 0.2,
    )
    return EngineOptions(rng.randint(170, 300), kind, profile, scheduler)  # type: ignore[arg-type]


def random_job(rng: Random, rid: int, seen: list[list[int]]) -> Job:
    """A prompt that continues, repeats or cuts an earlier one, or is new."""
    stem = rng.choice(seen)
    if rng.random() < 0.5:
        stem = stem[: rng.randint(0, len(stem))]
    prompt = (stem + [rng.randrange(8) for _ in range(rng.randint(1, 30))])[:100]
    seen.append(prompt)
    del seen[:-30]
    namespace = rng.choice(["", "", "", "b"])
    tokens = array("i", prompt).tobytes()
    longest = rng.choice([0, 1, 12, LONGEST - 100, LONGEST - 100])
    return Job(rid, tokens, b"", 0.0, namespace, rng.randint(0, 2), max_new=longest)


class Life:
    """One engine from the first job to the last."""

    def __init__(self, model: Decoder, rng: Random) -> None:
        options = random_options(rng)
        profile = options.profile
        model.prepare(LONGEST)
        memory = KVMemory(SHAPE, options.capacity, model.device, model.dtype)
        host = None
        if profile.host_ratio:
            host = HostMemory(memory, SHAPE, host_tokens(options.capacity, profile))
        rows = options.scheduler.max_running + 1
        self.cache, slots = cache_with_slots(options, rows, LONGEST + profile.page_size, host)
        attention = attention_named(rng.choice(["sdpa", "split"]), memory)
        ahead = 1 if isinstance(self.cache, BlockCache) else rng.choice([1, 4])
        executor = TorchExecutor(model, memory, slots, attention, host, ahead)
        self.outputs: dict[int, bytes] = {}
        self.steps = 0

        def note(_: object) -> None:
            assert executor.last is not None
            self.steps += 1
            for column, rid in enumerate(executor.last.sampled):
                self.outputs[rid] = self.outputs.get(rid, b"") + executor.last.tokens[:, column].tobytes()

        self.scheduler = Scheduler(self.cache, executor, options.scheduler, note)

    def audit(self) -> None:
        """Recount everything."""
        now = self.cache.occupancy()
        assert now.free + now.evictable + now.protected + now.held == now.total
        if isinstance(self.cache, RadixCache):
            state = self.scheduler.state
            tasks = [*state.running, *([state.partial] if state.partial else [])]
            self.cache.audit([task.seq for task in tasks])
        else:
            self.cache.audit()


def soak(model: Decoder, seed: int, steps: int) -> tuple[int, int]:
    """Live at least that many steps; (requests whose outputs were checked, retractions)."""
    rng = Random(seed)
    plain = Engine(model, EngineOptions(1000, "none", threads=1))
    done = checked = retractions = lives = 0
    while done < steps:
        lives += 1
        life = Life(model, rng)
        jobs: dict[int, Job] = {}
        seen: list[list[int]] = [[]]
        for _ in range(rng.randint(20, 60)):
            for _ in range(rng.choice([0, 1, 1, 2, 6])):
                job = random_job(rng, len(jobs), seen)
                jobs[job.rid] = job
                life.scheduler.submit(job)
            life.scheduler.step()
            life.audit()
        while life.scheduler.unfinished:
            life.scheduler.step()
            life.audit()
        left = life.cache.occupancy()
        assert (left.protected, left.held) == (0, 0)
        assert left.free + left.evictable == left.total
        if isinstance(life.cache, RadixCache) and life.cache.table is not None:
            assert life.cache.table.free_rows == life.scheduler.config.max_running + 1
        done += life.steps
        records = life.scheduler.records
        retractions += sum(record.retractions for record in records.values())
        whole = [rid for rid, record in records.items() if not record.refused and not record.truncated]
        sample = rng.sample(whole, min(20, len(whole)))
        alone = plain.run([replace(jobs[rid], arrival=0.0) for rid in sample], in_flight=1)
        for rid in sample:
            emitted = 4 * (jobs[rid].max_new or 0)
            close = alone.gaps[rid].min(initial=1.0) < 1e-4
            assert close or life.outputs[rid][:emitted] == alone.outputs[rid], f"life {lives}, request {rid}"
            checked += not close
    return checked, retractions


@pytest.fixture(scope="module")
def model() -> Decoder:
    return random_model(SHAPE)


def test_a_random_life_accounts_for_every_slot(model: Decoder) -> None:
    checked, retractions = soak(model, seed=4, steps=1500)
    assert checked > 30
    assert retractions > 10


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [2, 3])
def test_a_random_life_of_10000_steps_accounts_for_every_slot(model: Decoder, seed: int) -> None:
    checked, retractions = soak(model, seed=seed, steps=10_000)
    assert checked > 200
    assert retractions > 100
