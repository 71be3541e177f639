"""Greedy outputs against transformers, over every way to serve the same twenty requests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import pytest
from radixengine.config import SchedulerConfig
from radixengine.engine import Engine, EngineOptions
from radixengine.profile import RadixProfile
from radixengine.recorded import simulate_recorded
from radixengine.results import EngineRun

from tests.engine.models import ARCHITECTURES, mixed_jobs, pair, reference_outputs

REQUESTS = 20
SMALL = 256


@dataclass(frozen=True)
class Setup:
    """One combination. ``small``: a pool so small that requests are evicted and retracted."""

    cache: bool
    policy: str
    chunk: int
    page: int
    host: bool
    small: bool

    def options(self, backend: str = "auto") -> EngineOptions:
        host = 2.0 if self.host and self.cache else 0.0
        return EngineOptions(
            SMALL if self.small else 8192,
            "radix" if self.cache else "none",
            RadixProfile(page_size=self.page, host_ratio=host),
            SchedulerConfig(policy=self.policy, chunk_tokens=self.chunk, reservation=None),
            backend=backend,
            threads=1,
            debug=True,
        )


CHOICES = ((False, True), ("fcfs", "lpm", "dfs-weight"), (64, 256), (1, 16), (False, True), (False, True))
EVERY = [Setup(*values) for values in product(*CHOICES)]


def pairwise(setups: list[Setup]) -> list[Setup]:
    """Few setups in which every pair of choices occurs: greedily, most new pairs first."""

    def pairs(setup: Setup) -> set[tuple[object, ...]]:
        values = enumerate([setup.cache, setup.policy, setup.chunk, setup.page, setup.host, setup.small])
        return {one + two for one, two in combinations(list(values), 2)}

    missing = set().union(*map(pairs, setups))
    picked = []
    while missing:
        best = max(setups, key=lambda setup: len(pairs(setup) & missing))
        picked.append(best)
        missing -= pairs(best)
    return picked


PAIRWISE = pairwise(EVERY)


def check(name: str, setup: Setup, backend: str = "auto") -> EngineRun:
    jobs = mixed_jobs(REQUESTS)
    options = setup.options(backend)
    run = Engine(pair(name)[1], options).run(jobs)
    expected = reference_outputs(name, REQUESTS)
    assert run.complete
    assert not [record.rid for record in run.records if record.refused or record.truncated]
    assert run.outputs == expected
    assert all(len(gaps) == len(expected[rid]) // 4 for rid, gaps in run.gaps.items())
    assert bool(run.retractions) == setup.small
    hits = sum(record.matched for record in run.records)
    assert bool(hits) == setup.cache
    assert bool(run.evicted_tokens) == (setup.cache and setup.small)
    assert bool(run.loaded_tokens) == (setup.cache and setup.small and setup.host)
    chunks = [rid for step in run.schedule for rid, _, _ in step.prefill]
    assert len(chunks) > len(set(chunks))
    largest = max(sum(tokens for _, _, tokens in step.prefill) for step in run.schedule)
    assert 64 * (setup.chunk > 64) < largest <= setup.chunk
    simulated = simulate_recorded(jobs, options, run)
    assert [record.matched for record in simulated] == [record.matched for record in run.records]
    return run


@pytest.mark.parametrize("number", range(len(PAIRWISE)))
def test_outputs_equal_those_of_transformers_pairwise(number: int) -> None:
    """The architectures take turns; with each of them all choices still occur."""
    check(ARCHITECTURES[number % len(ARCHITECTURES)], PAIRWISE[number])


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("cache", [False, True])
def test_outputs_of_every_architecture_from_a_small_pool(name: str, cache: bool) -> None:
    check(name, Setup(cache, "lpm", 64, 1, host=False, small=True))


def test_the_reference_backend_gives_the_same_outputs() -> None:
    check("qwen3", Setup(True, "dfs-weight", 64, 16, host=True, small=True), backend="sdpa")


def test_the_policies_really_serve_in_different_orders() -> None:
    """With equal outputs, what tells them apart is the order in which prompts are computed."""
    orders = set()
    for policy in ("fcfs", "lpm", "dfs-weight"):
        run = check("llama", Setup(True, policy, 256, 1, host=False, small=True))
        orders.add(tuple(rid for step in run.schedule for rid, _, _ in step.prefill))
    assert len(orders) == 3


def test_kv_that_went_through_the_host_gives_the_same_outputs() -> None:
    """The reload really happens: with few tokens on the device, prefixes come back from the host."""
    run = check("qwen2", Setup(True, "fcfs", 64, 1, host=True, small=True))
    assert run.loaded_tokens > 0
    assert run.load_seconds > 0


def test_blocks_give_the_same_outputs() -> None:
    jobs = mixed_jobs(REQUESTS)
    scheduler = SchedulerConfig(mixed=True, visible_at_schedule=True, reservation=None, chunk_tokens=64)
    options = EngineOptions(SMALL, "blocks", RadixProfile(page_size=16), scheduler, threads=1, debug=True)
    run = Engine(pair("llama")[1], options).run(jobs)
    assert run.outputs == reference_outputs("llama", REQUESTS)
    assert run.retractions
    assert sum(record.matched for record in run.records)
    simulated = simulate_recorded(jobs, options, run)
    assert [record.matched for record in simulated] == [record.matched for record in run.records]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("number", range(len(EVERY)))
def test_outputs_equal_those_of_transformers_in_every_setup(name: str, number: int) -> None:
    check(name, EVERY[number])
