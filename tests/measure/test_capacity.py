"""Hits at every capacity, the optimal bound and the best batch order, against direct simulation."""

from __future__ import annotations

import json
import random
import time
from array import array
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from radixengine.tree import RadixTree

from radixadvisor.measure.batch_order import depth_first
from radixadvisor.measure.capacity import capacity_table, lru_curves, steady_start
from radixadvisor.measure.optimal import optimal_hits
from radixadvisor.measure.paths import Paths, touched_paths
from tests.measure.naive_cache import best_eviction, leaf_lru, plain_lru


def _trace(rng: random.Random, requests: int, longest: int, alphabet: int) -> list[bytes]:
    """Prompts that extend, cut and branch off earlier ones."""
    made: list[list[int]] = []
    for _ in range(rng.randint(1, requests)):
        head = rng.choice(made)[: rng.randint(0, longest)] if made and rng.random() < 0.8 else []
        tail = [rng.randrange(alphabet) for _ in range(rng.randint(0, longest - len(head)))]
        made.append((head + tail) or [0])
    return [array("i", tokens).tobytes() for tokens in made]


def _longest(prompts: Sequence[bytes]) -> int:
    return max(len(prompt) for prompt in prompts) // 4


@pytest.mark.parametrize("block", range(30))
def test_every_capacity_equals_direct_simulation(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        rng = random.Random(seed)
        prompts = _trace(rng, 16, 12, 3)
        paths = touched_paths(prompts)
        curves = lru_curves(paths)
        smallest, largest = _longest(prompts), paths.positions + 1
        capacities = {rng.randint(smallest, max(smallest, largest)) for _ in range(30)} | {smallest}
        for capacity in capacities:
            served = leaf_lru(prompts, capacity)
            assert curves.total.hits(capacity) == sum(served)
            assert curves.steady.hits(capacity) == sum(served[steady_start(len(prompts)) :])
        assert curves.total.tokens == sum(map(len, prompts)) // 4
        for capacity in range(smallest):
            assert curves.total.hits(capacity) == plain_lru(prompts, capacity)


def test_saturation_is_the_smallest_capacity_that_serves_everything() -> None:
    for seed in range(100):
        prompts = _trace(random.Random(seed), 15, 12, 3)
        curve = lru_curves(touched_paths(prompts)).total
        tree = RadixTree()
        unlimited = sum(tree.match_insert(prompt) for prompt in prompts)
        assert curve.hits(curve.saturation) == curve.hits(10**9) == unlimited
        assert not curve.saturation or curve.hits(curve.saturation - 1) < unlimited


def test_namespaces_are_kept_apart_and_a_given_tree_is_used() -> None:
    rng = random.Random(5)
    prompts = _trace(rng, 30, 12, 2)
    names = [rng.choice("ab") for _ in prompts]
    tree = RadixTree()
    unlimited = sum(tree.match_insert(prompt, name) for prompt, name in zip(prompts, names, strict=True))
    given = lru_curves(touched_paths(prompts, tree=tree, namespaces=names))
    built = lru_curves(touched_paths(iter(prompts), namespaces=names))
    apart = [prompt + array("i", [ord(name)]).tobytes() for prompt, name in zip(prompts, names, strict=True)]
    assert given.total.hits(10**9) == built.total.hits(10**9) == unlimited
    assert unlimited < lru_curves(touched_paths(apart)).total.hits(10**9)


def test_a_short_last_block_counts_its_own_tokens() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        prompts = _trace(rng, 12, 6, 3)
        lacking = {prompt: rng.randint(0, 3) for prompt in prompts}
        lengths = [len(prompt) // 4 * 4 - lacking[prompt] for prompt in prompts]
        paths = touched_paths(prompts, unit=4, lengths=lengths)
        curves = lru_curves(paths)
        assert curves.total.tokens == sum(lengths)
        for size in range(_longest(prompts), paths.positions + 2):
            served = leaf_lru(prompts, size)
            tokens = [
                count * 4 - (lacking[prompt] if count * 4 == len(prompt) else 0)
                for count, prompt in zip(served, prompts, strict=True)
            ]
            assert curves.total.hits(size * 4 + rng.randint(0, 3)) == sum(tokens)
            assert curves.steady.hits(size * 4) == sum(tokens[steady_start(len(prompts)) :])


@pytest.mark.parametrize("block", range(10))
def test_the_optimal_bound_equals_exhaustive_search(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        rng = random.Random(seed)
        prompts = _trace(rng, 7, 4, 2)
        paths = touched_paths(prompts)
        capacity = rng.randint(_longest(prompts), max(_longest(prompts), min(paths.positions, 7)))
        whole, steady = optimal_hits(paths, capacity, steady_start(len(prompts)))
        assert whole == best_eviction(prompts, capacity)
        assert 0 <= steady <= whole


def test_lru_never_exceeds_the_optimum_and_both_end_at_unlimited() -> None:
    for seed in range(60):
        prompts = _trace(random.Random(seed), 40, 12, 3)
        paths = touched_paths(prompts)
        curve = lru_curves(paths).total
        for capacity in range(_longest(prompts), paths.positions + 1):
            assert curve.hits(capacity) <= optimal_hits(paths, capacity)[0] <= curve.hits(10**9)
        assert optimal_hits(paths, paths.positions)[0] == curve.hits(10**9)


def test_a_request_larger_than_the_cache_leaves_it_as_it_was() -> None:
    small, large = array("i", [1, 2]).tobytes(), array("i", [1, 2, 3, 4, 5]).tobytes()
    paths = touched_paths([small, large, small])
    assert optimal_hits(paths, 3) == (2 + 2, 2 + 2)


@pytest.mark.parametrize("seed", range(60))
def test_depth_first_order_reaches_the_bound_and_no_order_exceeds_it(seed: int) -> None:
    rng = random.Random(seed)
    prompts = _trace(rng, 6, 6, 2)
    found = depth_first(prompts)
    in_order = [prompts[index] for index in found.order]
    tree = RadixTree()
    unlimited = sum(tree.match_insert(prompt) for prompt in prompts)
    assert sorted(found.order) == list(range(len(prompts)))
    assert found.hits == unlimited == sum(map(len, prompts)) // 4 - tree.tokens
    assert sum(leaf_lru(in_order, _longest(prompts))) == found.hits
    duplicates = len(prompts) - len(set(prompts))
    assert depth_first(prompts, recompute_last=True).hits == found.hits - duplicates
    size = rng.randint(_longest(prompts), tree.tokens)
    for order in permutations(prompts) if len(prompts) < 6 else [rng.sample(prompts, 6) for _ in range(100)]:
        assert sum(leaf_lru(order, size)) <= found.hits


def test_depth_first_order_keeps_namespaces_apart() -> None:
    prompt = array("i", [1, 2, 3]).tobytes()
    assert depth_first([prompt, prompt, prompt], ["a", "b", "a"]).hits == 3


def test_the_table_rises_to_the_unlimited_rate() -> None:
    prompts = _trace(random.Random(1), 300, 40, 4)
    paths = touched_paths(prompts)
    curves = lru_curves(paths)
    rows = capacity_table(paths, curves, kv_bytes_per_token=2**20)
    tokens = [row.tokens for row in rows]
    assert tokens == sorted(set(tokens))
    assert len(rows) > 5
    assert rows[0].tokens >= _longest(prompts)
    assert rows[-1].lru_rate == rows[-1].optimal_rate == curves.total.rate(10**9)
    assert rows[-1].steady_lru_rate == rows[-1].steady_optimal_rate
    assert all(row.gib == row.tokens / 1024 for row in rows)
    assert [row.lru_rate for row in rows] == sorted(row.lru_rate for row in rows)
    bare = capacity_table(paths, curves, optimal=False)
    assert {(row.gib, row.optimal_rate, row.steady_optimal_rate) for row in bare} == {(None, None, None)}


def test_nothing_to_measure() -> None:
    paths = touched_paths([])
    curves = lru_curves(paths)
    assert (curves.total.hits(100), curves.total.rate(100), curves.total.saturation) == (0, 0.0, 0)
    assert capacity_table(paths, curves) == []
    assert optimal_hits(paths, 100) == (0, 0)


def _mooncake(shared: Path) -> Paths:
    file = shared / "data" / "mooncake_conversation" / "conversation_trace.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    prompts = [array("i", row["hash_ids"]).tobytes() for row in rows]
    return touched_paths(prompts, unit=512, lengths=[row["input_length"] for row in rows])


def test_published_conversation_trace(shared: Path) -> None:
    start = time.process_time()
    paths = _mooncake(shared)
    curve = lru_curves(paths).total
    assert time.process_time() - start < 5
    # The first size is 1,000 blocks.
    expected = {512_000: (4.5, 18.3), 3_000_000: (13.9, 35.8), 10_200_000: (29.3, 37.4), 10**10: (37.4, 37.4)}
    for capacity, (lru, optimal) in expected.items():
        assert 100 * curve.rate(capacity) == pytest.approx(lru, abs=0.1)
        assert 100 * optimal_hits(paths, capacity)[0] / curve.tokens == pytest.approx(optimal, abs=0.1)
    assert curve.rate(10**10) == pytest.approx(0.373624, abs=5e-7)
