from __future__ import annotations

from collections.abc import Callable

import pytest
from radixengine.blocks import BlockCache
from radixengine.config import SchedulerConfig
from radixengine.radix_cache import RadixCache

from radixadvisor.errors import AdvisorError, UnknownName, UsageError
from radixadvisor.simulate.cost import LinearCost
from radixadvisor.simulate.hosted import HostedOptions, simulate_hosted
from radixadvisor.simulate.hosted_profiles import provider, providers
from radixadvisor.simulate.options import Options, capacity_of_blocks
from radixadvisor.simulate.profiles import EngineProfile, engine, engines
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from tests.simulate.logs import run_of

TWO = Requests([run_of(1, 20), run_of(1, 30)], [run_of(2, 2), b""])


def test_engines_are_data_with_a_version_a_source_and_a_date() -> None:
    assert sorted(engines()) == ["none", "sglang", "sglang-0.5.8", "trtllm", "vllm"]
    for profile in engines().values():
        assert profile.source and profile.version and profile.checked.startswith("20")
    assert engine("SGLang").version == "0.5.23"
    old, new = engine("sglang-0.5.8"), engine("sglang")
    assert {name for name in new.radix if new.radix[name] != old.radix[name]} == {
        "shortfall",
        "inherit_creation",
    }
    assert engine("vllm").scheduler.visible_at_schedule and engine("vllm").scheduler.reservation is None


def test_a_vllm_pool_has_one_block_more_than_its_capacity() -> None:
    cache = engine("vllm").build(capacity_of_blocks(101, 16))
    assert isinstance(cache, BlockCache)
    assert cache.capacity == 1600
    radix = engine("sglang").with_page(16).with_evict("fifo").build(1000)
    assert isinstance(radix, RadixCache)
    assert (radix.page_size, radix.capacity, radix.profile.evict) == (16, 992, "fifo")


def test_a_block_cache_needs_a_scheduler_that_shows_blocks_at_once() -> None:
    with pytest.raises(ValueError, match="shows its blocks when they are allocated"):
        EngineProfile("x", "1", "-", "-", "blocks", 16, "lru", SchedulerConfig())


def test_hosted_minimums_go_by_model() -> None:
    assert sorted(providers()) == ["anthropic", "bedrock", "deepseek", "gemini", "openai"]
    claude = provider("Anthropic")
    models = ["claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-4-5", "claude-3-5-haiku-latest"]
    assert [claude.minimum_for(model) for model in models] == [4096, 4096, 1024, 2048]
    assert [provider("gemini").minimum_for(f"gemini-{n}-pro") for n in ("2.5", "3.1")] == [2048, 4096]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Options(capacity=0), "capacity must be at least 1 (tokens; leave it out for an unlimited"),
        (lambda: Options(page=0), "page must be at least 1 (tokens), not 0"),
        (lambda: Options(replicas=0), "replicas must be at least 1"),
        (lambda: Options(concurrency=0), "leave it out to follow the log's arrivals"),
        (lambda: Options(speedup=0.0), "speedup must be above 0"),
        (lambda: Options(sampled=1.5), "above 0, at most 1, not 1.5"),
        (lambda: Options(pin=-1), "pin is a number of tokens: 0 (off) or above, not -1"),
        (lambda: Options(host_ratio=-0.5), "host ratio must be 0 (off) or above"),
        (lambda: Options(host_ratio=float("nan")), "not nan"),
        (lambda: Options(host_ratio=float("inf")), "not inf"),
        (lambda: Options(external_rate=-1.0), "external rate must be 0 (off) or above (tokens per second)"),
        (
            lambda: simulate(TWO, engine("sglang"), Options(page=9000)),
            "a page holds 1 to 8192 tokens, not 9000",
        ),
        (lambda: Options(capacity=100, pin=100), "100 pinned tokens leave nothing of a pool of 100"),
        (lambda: Options(host_write="later"), "Known: write_back, write_through, write_through_selective"),
        (lambda: Options(external_rate=5.0), "give a host ratio above 0 too"),
        (lambda: LinearCost(step=0.0), "the cost of a step must be above 0"),
        (lambda: engine("sglng"), "Did you mean sglang? Known: none, sglang, sglang-0.5.8, trtllm, vllm"),
        (lambda: provider("azure"), "Known: anthropic, bedrock, deepseek, gemini, openai"),
        (lambda: engine("sglang").with_policy("sjf"), "Known: dfs-weight, fcfs, lof, lpm, random"),
        (lambda: engine("sglang").with_evict("arc"), "Known: fifo, filo, lfu, lru, mru, priority, slru"),
        (lambda: engine("vllm").with_evict("fifo"), "vllm evicts lru only; sglang, sglang-0.5.8 can"),
        (lambda: engine("sglang").with_page(0), "A page holds at least 1 token"),
        (lambda: capacity_of_blocks(1, 16), "counts the null block: at least 2"),
        (lambda: simulate(TWO, engine("vllm"), Options(capacity=15)), "smaller than one page of 16"),
        (lambda: simulate(TWO, engine("vllm"), Options(pin=5)), "sglang, sglang-0.5.8 can do that"),
        (
            lambda: simulate(TWO, engine("none"), Options(host_ratio=1.0)),
            "none has no external_rate, host_ratio",
        ),
        (
            lambda: simulate(TWO, engine("sglang"), Options(route="best")),
            "Known: cache-aware, logged, prefix-hash",
        ),
        (lambda: simulate(TWO, engine("sglang"), Options(route="sticky")), "lacks; it can have cache-aware"),
        (lambda: simulate(TWO, engine("sglang"), Options(route="logged")), "names no replicas to follow"),
        (
            lambda: simulate_hosted(TWO, provider("openai"), HostedOptions(lifetime=60.0)),
            "Lifetimes need a time",
        ),
        (lambda: simulate_hosted(TWO, provider("openai"), HostedOptions(lifetime=0.0)), "above 0, not 0"),
        (
            lambda: simulate_hosted(TWO, provider("openai"), HostedOptions(lifetime="2h")),
            "Known: 24h, in_memory",
        ),
        (lambda: Requests([b""], arrivals=[]), "Column arrivals has 0 rows, prompts 1"),
        (lambda: Requests([b""], unit=16), "needs the prompt lengths in tokens"),
    ],
)
def test_what_cannot_work_is_said_in_one_sentence_with_what_can(
    wrong: Callable[[], object], says: str
) -> None:
    with pytest.raises(AdvisorError) as error:
        wrong()
    assert says in str(error.value)
    assert error.value.exit_code == 2 and isinstance(error.value, UsageError | UnknownName)
