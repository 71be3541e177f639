"""The block cache: hand-made scenarios, and random interleavings against the slow oracle."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable

import pytest
from radixengine.blocks import BlockCache
from radixengine.cache import Match, Sequence
from radixengine.tree import RadixTree

from tests.radixengine.naive_blocks import NaiveBlocks


def _pack(tokens: Iterable[int]) -> bytes:
    return array("i", tokens).tobytes()


def _seq(rid: int, tokens: Iterable[int], output: Iterable[int] = (), namespace: str = "") -> Sequence:
    return Sequence(rid, _pack(tokens), _pack(output), namespace)


def _serve(cache: BlockCache, seq: Sequence) -> int:
    matched = cache.match(seq).device
    assert cache.allocate(seq, seq.prompt_len - matched)
    cache.publish(seq)
    cache.decode(seq, max(seq.output_len - 1, 0))
    cache.finish(seq)
    return matched


def test_the_second_of_two_identical_requests_in_one_step_hits() -> None:
    cache = BlockCache(101, 16)
    first, second = _seq(0, range(100)), _seq(1, range(100))
    assert cache.match(first) == Match(0, 0)
    assert cache.allocate(first, 100)
    assert cache.match(second) == Match(96, 0)
    assert cache.allocate(second, 4)
    cache.publish(first)
    cache.publish(second)
    assert (first.computed, second.computed) == (100, 100)
    assert cache.occupancy() == (1600 - 128, 0, 96, 32, 1600)
    cache.audit()


def test_a_cached_aligned_prompt_recomputes_a_whole_block() -> None:
    cache = BlockCache(101, 16)
    assert _serve(cache, _seq(0, range(64))) == 0
    assert _serve(cache, _seq(1, range(64))) == 48
    assert _serve(cache, _seq(2, range(65))) == 64


def test_the_recomputed_block_is_a_copy_and_the_first_one_is_found() -> None:
    cache = BlockCache(101, 16)
    for rid in range(3):
        _serve(cache, _seq(rid, range(32)))
    assert cache.occupancy().evictable == 16 + 3 * 16
    cache.audit()


def test_the_null_block_is_not_usable() -> None:
    cache = BlockCache(5, 16)
    assert cache.capacity == 64
    fits, too_long = _seq(0, range(64)), _seq(1, range(65))
    cache.match(too_long)
    assert not cache.allocate(too_long, 65)
    cache.match(fits)
    assert cache.allocate(fits, 64)


def test_hits_in_the_free_queue_count_in_the_fit_test() -> None:
    cache = BlockCache(6, 16)
    assert _serve(cache, _seq(0, range(48))) == 0
    running = _seq(1, range(900, 932))
    cache.match(running)
    assert cache.allocate(running, 32)
    longer = _seq(2, range(64))
    assert cache.match(longer) == Match(48, 0)
    assert not cache.allocate(longer, 16), "three free blocks are the hits themselves"
    cache.unlock(longer)
    assert cache.occupancy().evictable == 48
    cache.finish(running)
    assert _serve(cache, longer) == 48


def test_without_a_tree_an_old_prefix_is_evicted_tail_first() -> None:
    cache = BlockCache(5, 16)
    _serve(cache, _seq(0, range(64)))
    _serve(cache, _seq(1, range(500, 532)))
    assert cache.peek(_seq(2, range(64))) == Match(32, 0)


def test_decode_blocks_are_cached_but_never_the_last_sampled_token() -> None:
    cache = BlockCache(101, 16)
    _serve(cache, _seq(0, range(16), range(16, 33)))
    assert cache.peek(_seq(1, range(40))) == Match(32, 0)
    _serve(cache, _seq(2, range(100, 116), range(116, 132)))
    assert cache.peek(_seq(3, range(100, 140))) == Match(16, 0)


def test_namespaces_never_share() -> None:
    cache = BlockCache(101, 16)
    _serve(cache, _seq(0, range(64), namespace="a"))
    assert cache.peek(_seq(1, range(65), namespace="b")) == Match(0, 0)
    assert cache.peek(_seq(2, range(65), namespace="a")) == Match(64, 0)


def test_partial_reuse_copies_from_a_sibling_block() -> None:
    whole, partial = BlockCache(101, 32), BlockCache(101, 32, partial_reuse=True)
    for cache in (whole, partial):
        _serve(cache, _seq(0, range(100)))
    asked = _seq(1, [*range(50), *range(900, 950)])
    assert whole.peek(asked) == Match(32, 0)
    assert partial.peek(_seq(1, [*range(50), *range(900, 950)])) == Match(50, 0)
    assert partial.peek(_seq(2, range(100))) == Match(99, 0), (
        "the unfilled block gives all but the last token"
    )


def test_a_match_that_another_sequence_evicted_is_not_used() -> None:
    cache = BlockCache(6, 16)
    _serve(cache, _seq(0, range(64)))
    matched, other = _seq(1, range(64)), _seq(2, range(500, 564))
    assert cache.match(matched) == Match(48, 0)
    cache.match(other)
    assert cache.allocate(other, 64)
    cache.finish(other)
    with pytest.raises(RuntimeError, match="evicted before"):
        cache.allocate(matched, 16)


def test_partial_reuse_in_an_unlimited_pool_serves_the_longest_common_prefix() -> None:
    rng = random.Random(4)
    cache, tree = BlockCache(100_000, 32, partial_reuse=True), RadixTree()
    heads = [[rng.randrange(3) for _ in range(rng.randint(1, 200))] for _ in range(8)]
    for rid in range(300):
        tokens = rng.choice(heads)[: rng.randint(1, 200)] + [
            rng.randrange(3) for _ in range(rng.randint(0, 60))
        ]
        seq = _seq(rid, tokens, [rng.randrange(3) for _ in range(rng.randint(1, 50))])
        known = tree.peek(seq.prompt)[0]
        assert _serve(cache, seq) == min(known, seq.prompt_len - 1)
        tree.match_insert(seq.prompt + seq.output[:-4])


@pytest.mark.parametrize(("blocks", "size"), [(1, 16), (0, 16), (5, 0)])
def test_impossible_sizes_are_refused(blocks: int, size: int) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        BlockCache(blocks, size)


@pytest.mark.parametrize("seed", range(150))
def test_random_interleavings_equal_the_oracle(seed: int) -> None:
    rng = random.Random(seed)
    blocks, size, partial = rng.randint(5, 40), rng.choice([1, 2, 3, 4]), rng.random() < 0.4
    cache = BlockCache(blocks, size, partial_reuse=partial)
    naive = NaiveBlocks(blocks, size, partial)
    heads = [[rng.randint(0, 2) for _ in range(rng.randint(1, 16))] for _ in range(4)]
    running: list[Sequence] = []
    for rid in range(60):
        tokens = rng.choice(heads)[: rng.randint(1, 16)] + [
            rng.randint(0, 2) for _ in range(rng.randint(0, 6))
        ]
        seq = _seq(
            rid, tokens, [rng.randint(0, 2) for _ in range(rng.randint(0, 9))], rng.choice(["", "lora"])
        )
        seq.cache_prompt_only = rng.random() < 0.2
        assert cache.peek(seq).device == naive.lookup(seq)[1]
        matched = cache.match(seq).device
        first = rng.randint(1, seq.prompt_len - matched)
        admitted = cache.allocate(seq, first)
        assert admitted == naive.admit(seq, first)
        if admitted:
            running.append(seq)
            rest = seq.prompt_len - matched - first
            if rest:
                fits = cache.allocate(seq, rest)
                assert fits == naive.extend(seq, rest, seq.prompt)
                if not fits:
                    cache.retract(running.pop())
                    naive.finish(seq, completed=False)
        else:
            cache.unlock(seq)
        while running and rng.random() < 0.6:
            seq = running.pop(rng.randrange(len(running)))
            steps = max(seq.output_len - 1, 0)
            assert cache.decode(seq, steps) == naive.decode(seq, steps)
            cache.finish(seq)
            naive.finish(seq, completed=True)
        cache.audit()
        now = cache.occupancy()
        assert sum(now[:4]) == now.total == cache.capacity
        assert now.free + now.evictable == len(naive.free) * size
        assert now.evictable == sum(block.key is not None for block in naive.free) * size
        assert now.held == sum(block.refs > 0 and block.key is None for block in naive.blocks) * size


def test_a_long_run_of_hits_keeps_the_free_queue_short() -> None:
    cache = BlockCache(2001, 16)
    for rid in range(400):
        _serve(cache, _seq(rid, range(1600 + rid % 3)))
    cache.audit()
    assert cache._free.keyed == cache.occupancy().evictable // 16
    assert len(cache._free._keyed) < 3 * 4096
