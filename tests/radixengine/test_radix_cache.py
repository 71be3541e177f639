"""The radix cache against a plain one written independently, and against plain LRU."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radixengine.cache import PrefixCache, Sequence
from radixengine.evict import EVICTION
from radixengine.pool import PoolError
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.serial import serve
from radixengine.table import RequestTable

from tests.benchmarks.naive_radix import RANKS, NaiveRadix

SEEDS = st.integers(0, 2**32 - 1)


def pack(tokens: list[int]) -> bytes:
    return array("i", tokens).tobytes()


def requests(rng: Random, count: int, page: int) -> list[dict[str, Any]]:
    """Prompts that grow out of earlier ones, in runs around the page size, with outputs and namespaces."""
    made: list[dict[str, Any]] = []
    for _ in range(count):
        base = rng.choice(made) if made and rng.random() < 0.8 else {"prompt": [], "output": []}
        whole = base["prompt"] + base["output"]
        kept = whole[: rng.randint(0, len(whole))]
        runs = [(rng.randint(0, 2), rng.randint(1, 2 * page + 2)) for _ in range(rng.randint(0, 2))]
        prompt = kept[: 6 * page] + [token for token, length in runs for _ in range(length)]
        made.append(
            {
                "prompt": prompt or [0],
                "output": [rng.randint(0, 2) for _ in range(rng.randint(0, 2 * page + 2))],
                "namespace": "other" if rng.random() < 0.2 else "",
                "priority": rng.randint(0, 2),
                "cache_prompt_only": rng.random() < 0.2,
            }
        )
    return made


def sequence(rid: int, request: dict[str, Any]) -> Sequence:
    packed = {name: pack(request[name]) for name in ("prompt", "output")}
    return Sequence(rid, **{**request, **packed})


class Driver:
    """The same steps on several caches; their answers must agree."""

    def __init__(self, caches: list[PrefixCache]) -> None:
        self.caches = caches
        self.waiting: dict[int, list[Sequence]] = {}
        self.decoding: dict[int, list[Sequence]] = {}

    def ask(self, seqs: list[Sequence], question: Callable[[PrefixCache, Sequence], Any]) -> Any:
        answers = [question(cache, seq) for cache, seq in zip(self.caches, seqs, strict=True)]
        assert all(answer == answers[0] for answer in answers)
        counts = {seq.computed for seq in seqs}
        assert len(counts) == 1
        occupancy = {(cache.occupancy(), cache.evicted) for cache in self.caches}
        assert len(occupancy) == 1, occupancy
        for index, cache in enumerate(self.caches):
            if isinstance(cache, RadixCache):
                admitted = [*self.waiting.values(), *self.decoding.values()]
                cache.audit([held[index] for held in admitted if held[index].state is not None])
        return answers[0]

    def admit(self, rid: int, request: dict[str, Any], chunk: int) -> None:
        seqs = [sequence(rid, request) for _ in self.caches]
        found = self.ask(seqs, lambda cache, seq: cache.peek(seq))
        assert self.ask(seqs, lambda cache, seq: cache.match(seq)) == found
        tokens = min(chunk, seqs[0].prompt_len - found.device)
        self.waiting[rid] = seqs
        if not self.ask(seqs, lambda cache, seq: cache.allocate(seq, tokens)):
            del self.waiting[rid]
            self.ask(seqs, lambda cache, seq: cache.unlock(seq))

    def publish(self, rid: int, chunk: int) -> None:
        seqs = self.waiting[rid]
        self.ask(seqs, lambda cache, seq: cache.publish(seq))
        left = seqs[0].prompt_len - seqs[0].computed
        if not left:
            self.decoding[rid] = self.waiting.pop(rid)
        elif not self.ask(seqs, lambda cache, seq: cache.allocate(seq, min(chunk, left))):
            self.retract(rid)

    def decode(self, rid: int, steps: int) -> None:
        seqs = self.decoding[rid]
        left = seqs[0].output_len - 1 - (seqs[0].computed - seqs[0].prompt_len)
        self.ask(seqs, lambda cache, seq: cache.decode(seq, max(min(steps, left), 0)))

    def finish(self, rid: int) -> None:
        self.ask(self.decoding.pop(rid), lambda cache, seq: cache.finish(seq))

    def retract(self, rid: int) -> None:
        seqs = self.waiting.pop(rid) if rid in self.waiting else self.decoding.pop(rid)
        self.ask(seqs, lambda cache, seq: cache.retract(seq))


@given(SEEDS, st.sampled_from(sorted(EVICTION)), st.sampled_from([1, 2, 16]), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_equals_the_naive_cache_step_by_step(
    seed: int, policy: str, page: int, shortfall: bool, inherit: bool
) -> None:
    rng = Random(seed)
    capacity = page * rng.randint(2, 24)
    profile = RadixProfile(page, policy, shortfall=shortfall, inherit_creation=inherit)
    driver = Driver(
        [
            NaiveRadix(capacity, page, policy, shortfall=shortfall, inherit=inherit),
            RadixCache(capacity, profile),
            RadixCache(capacity, profile, RequestTable(24, 512)),
        ]
    )
    chunk = page * rng.choice([1, 2, 100])
    queue = list(enumerate(requests(rng, 24, page)))
    while queue or driver.waiting or driver.decoding:
        running = [("publish", rid) for rid in driver.waiting] + [("decode", rid) for rid in driver.decoding]
        action, rid = rng.choice([*running, *([("admit", -1)] if queue else [])])
        if action == "admit":
            driver.admit(*queue.pop(0), chunk)
        elif rng.random() < 0.1:
            driver.retract(rid)
        elif action == "publish":
            driver.publish(rid, chunk)
        else:
            driver.decode(rid, rng.randint(1, 3 * page))
            if rng.random() < 0.5:
                driver.finish(rid)
    assert driver.caches[0].occupancy().protected == driver.caches[0].occupancy().held == 0


def test_policies_of_both_are_the_same() -> None:
    assert set(RANKS) == set(EVICTION)


def shape(cache: RadixCache) -> list[tuple[bytes, int, int, int]]:
    return [(node.edge, node.stamp, node.lock, node.hits) for _, node, _ in cache.tree.walk()]


@given(SEEDS, st.sampled_from([1, 2, 5]), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_many_decode_steps_equal_single_ones(seed: int, page: int, shortfall: bool, whole: bool) -> None:
    rng = Random(seed)
    profile = RadixProfile(page, shortfall=shortfall, whole_node=whole)
    capacity = page * rng.randint(4, 12)
    caches = [RadixCache(capacity, profile), RadixCache(capacity, profile)]
    old = requests(rng, 8, page)
    prompt = pack([rng.randint(3, 4) for _ in range(rng.randint(1, 3 * page))])
    steps = rng.randint(1, 12 * page)
    taken = []
    for cache, size in zip(caches, (steps, 1), strict=True):
        list(serve(cache, (sequence(rid, request) for rid, request in enumerate(old))))
        seq = Sequence(9, prompt, pack([5] * 99))
        matched = cache.match(seq).device
        assert cache.allocate(seq, seq.prompt_len - matched)
        cache.publish(seq)
        taken.append(sum(cache.decode(seq, size) for _ in range(steps // size)))
        cache.audit([seq])
    assert taken[0] == taken[1]
    assert shape(caches[0]) == shape(caches[1])
    assert caches[0].occupancy() == caches[1].occupancy()


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=30), st.integers(12, 40))
@settings(max_examples=200, deadline=None)
def test_page_wise_eviction_is_plain_lru_touched_leaf_first(prompts: list[list[int]], capacity: int) -> None:
    profile = RadixProfile(whole_node=False, refresh_tail=False, recompute_last=False)
    cache = RadixCache(capacity, profile)
    plain: OrderedDict[bytes, None] = OrderedDict()
    for served, prompt in zip(
        serve(cache, (Sequence(0, pack(prompt)) for prompt in prompts)), prompts, strict=True
    ):
        prefixes = [pack(prompt[: end + 1]) for end in range(len(prompt))]
        assert served.matched == next(
            (n for n, prefix in enumerate(prefixes) if prefix not in plain), len(prompt)
        )
        for prefix in reversed(prefixes):
            plain[prefix] = None
            plain.move_to_end(prefix)
        while len(plain) > capacity:
            plain.popitem(last=False)
        cache.audit([])


def test_unknown_or_contradictory_profiles_are_refused() -> None:
    with pytest.raises(ValueError, match="Known: fifo, filo, lfu, lru, mru, priority, slru"):
        RadixProfile(evict="random")
    with pytest.raises(ValueError, match="Known: write_back, write_through, write_through_selective"):
        RadixProfile(host_write="sometimes")
    for wrong in (
        {"page_size": 0},
        {"host_ratio": -1.0},
        {"external_rate": -1.0},
        {"external_rate": 1.0},
        {"host_ratio": 1.0, "whole_node": False},
    ):
        with pytest.raises(ValueError, match=r"\."):
            RadixProfile(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one page of 16"):
        RadixCache(15, RadixProfile(16))


def test_steps_out_of_order_are_refused() -> None:
    cache = RadixCache(16)
    seq = Sequence(7, pack([1, 2]))
    with pytest.raises(PoolError, match="sequence 7 has not been matched"):
        cache.allocate(seq, 2)
    cache.match(seq)
    cache.allocate(seq, 2)
    with pytest.raises(PoolError, match="retracted"):
        cache.unlock(seq)
