"""The tiers behind the device: host copies, loading back, prefetching from an external store."""

from __future__ import annotations

from array import array
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radixengine.cache import Match, Sequence
from radixengine.host import WRITE_POLICIES
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.serial import Served, serve
from radixengine.table import RequestTable


def numbers(start: int, count: int) -> bytes:
    return array("i", range(start, start + count)).tobytes()


def tiered(capacity: int, table: RequestTable | None = None, **profile: Any) -> RadixCache:
    return RadixCache(capacity, RadixProfile(**{"host_ratio": 2.0, **profile}), table)


def run(cache: RadixCache, *prompts: bytes) -> list[Served]:
    served = []
    for each in serve(cache, [Sequence(rid, prompt) for rid, prompt in enumerate(prompts)]):
        served.append(each)
        cache.audit([])
    return served


def test_a_backed_up_node_is_hit_on_the_host_and_loaded_back() -> None:
    cache = tiered(20, RequestTable(1, 32))
    first, other = numbers(0, 16), numbers(100, 16)
    run(cache, first, other)
    assert cache.peek(Sequence(9, first)) == Match(0, 15)
    seq = Sequence(9, first)
    assert cache.match(seq) == Match(0, 15)
    assert cache.load_back(seq) == 15
    assert (seq.computed, cache.occupancy().protected) == (15, 15)
    assert cache.allocate(seq, 1)
    cache.audit([seq])
    cache.publish(seq)
    cache.audit([seq])
    cache.finish(seq)
    # The other request had to make room; it is on the host now.
    assert cache.peek(Sequence(9, other)) == Match(0, 15)


def test_loading_back_obeys_minimum_and_quota() -> None:
    for prompt, quota, loaded in ((16, None, 15), (16, 15, 15), (16, 14, 0), (11, None, 10), (10, None, 0)):
        cache = tiered(20)
        run(cache, numbers(0, prompt), numbers(100, 20))
        seq = Sequence(9, numbers(0, prompt))
        assert cache.match(seq) == Match(0, prompt - 1)
        assert cache.load_back(seq, quota) == loaded
        assert cache.allocate(seq, prompt - loaded)
        cache.publish(seq)
        cache.audit([seq])
        cache.finish(seq)
        assert cache.peek(Sequence(9, numbers(0, prompt))) == Match(prompt - 1, 0)
        cache.audit([])


def test_host_tokens_computed_again_return_to_the_device() -> None:
    cache = tiered(20, load_back_minimum=100)
    first = numbers(0, 16)
    assert [served.host for served in run(cache, first, numbers(100, 16), first)] == [0, 0, 0]
    assert cache.peek(Sequence(9, first)) == Match(15, 0)


def test_without_room_nothing_is_loaded() -> None:
    cache = tiered(20)
    first = numbers(0, 16)
    run(cache, first)
    running = Sequence(1, numbers(100, 16))
    cache.match(running)
    cache.allocate(running, 16)
    seq = Sequence(2, first)
    assert cache.match(seq) == Match(0, 15)
    assert cache.load_back(seq) == 0
    assert not cache.allocate(seq, 16)
    cache.unlock(seq)
    cache.retract(running)
    cache.audit([])
    assert cache.peek(seq) == Match(0, 15)


def test_what_is_copied_to_the_host_depends_on_the_write_policy() -> None:
    once, twice, last = numbers(0, 10), numbers(100, 10), numbers(200, 21)
    found = {}
    for policy in WRITE_POLICIES:
        cache = tiered(21, host_write=policy, host_ratio=4.0)
        run(cache, once, twice, twice)
        assert cache.host is not None
        used = cache.host.used
        run(cache, last)
        found[policy] = used, cache.peek(Sequence(9, once)).host, cache.peek(Sequence(9, twice)).host
    assert found == {
        "write_through": (20, 9, 9),
        "write_through_selective": (10, 0, 9),
        "write_back": (0, 9, 9),
    }


def test_an_evicted_node_without_a_copy_ends_the_match() -> None:
    cache = tiered(32, host_write="write_through_selective")
    shared = numbers(0, 16)
    run(cache, shared + numbers(100, 8), shared + numbers(200, 8))
    run(cache, numbers(900, 32))
    # The shared part was hit twice and copied; what follows it was not.
    assert cache.peek(Sequence(9, shared + numbers(200, 8))) == Match(0, 16)


def test_a_host_too_small_for_a_node_keeps_none_of_it() -> None:
    cache = tiered(20, host_ratio=0.5)
    run(cache, numbers(0, 16), numbers(100, 8), numbers(200, 20))
    assert cache.peek(Sequence(9, numbers(0, 16))) == Match(0, 0)
    assert cache.peek(Sequence(9, numbers(100, 8))) == Match(0, 7)


def test_host_only_nodes_go_when_their_parent_leaves_every_tier() -> None:
    # The host has room for the tail, never for the trunk.
    cache = tiered(40, host_ratio=0.25, host_write="write_back")
    trunk = numbers(0, 30)
    run(cache, trunk, trunk + numbers(100, 9), numbers(500, 10))
    assert cache.peek(Sequence(9, trunk + numbers(100, 9))) == Match(30, 8)
    run(cache, numbers(600, 40))
    assert cache.peek(Sequence(9, trunk + numbers(100, 9))) == Match(0, 0)
    cache.audit([])


def test_prefetch_brings_long_prefixes_from_the_external_store_in_time() -> None:
    cache = tiered(600, host_ratio=1.0, external_rate=1000.0)
    long, short = numbers(0, 500), numbers(10_000, 200)
    run(cache, short, long, numbers(20_000, 600), numbers(30_000, 60))
    assert cache.peek(Sequence(9, long)) == cache.peek(Sequence(9, short)) == Match(0, 0)
    assert cache.prefetch(Sequence(9, short)) == 0.0
    assert cache.prefetch(Sequence(9, long)) == pytest.approx(0.499)
    assert cache.peek(Sequence(9, long)) == Match(0, 499)
    assert cache.prefetch(Sequence(9, long)) == 0.0
    assert cache.prefetch(Sequence(9, numbers(77_000, 500))) == 0.0
    cache.audit([])
    (served,) = run(cache, long)
    assert (served.matched, served.host) == (0, 499)


def test_a_slow_prefetch_is_cut_at_its_timeout() -> None:
    cache = tiered(3000, page_size=16, host_ratio=1.0, external_rate=1000.0)
    prompt = numbers(0, 2401)
    run(cache, prompt, numbers(20_000, 2900), numbers(40_000, 300))
    assert cache.prefetch(Sequence(9, prompt)) == pytest.approx(1.0 + 0.00025 * 2400)
    assert cache.peek(Sequence(9, prompt)) == Match(0, 1600)


def test_prefetch_needs_room_on_the_host() -> None:
    cache = tiered(600, host_ratio=1.0, external_rate=1000.0)
    run(cache, numbers(0, 500), numbers(20_000, 600), numbers(30_000, 600))
    # All of the host is taken by copies of what is on the device.
    assert cache.prefetch(Sequence(9, numbers(0, 500))) == 0.0
    cache.audit([])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 4]),
    st.sampled_from(sorted(WRITE_POLICIES)),
    st.sampled_from([0.3, 1.0, 50.0]),
)
@settings(max_examples=120, deadline=None)
def test_tiers_keep_their_accounts(seed: int, page: int, policy: str, ratio: float) -> None:
    """With a host that never fills, write_through and write_back lose nothing; no tier finds too much."""
    rng = Random(seed)
    external = 100.0 if rng.random() < 0.5 else 0.0
    profile: dict[str, Any] = {"page_size": page, "host_write": policy, "host_ratio": ratio}
    profile |= {"load_back_minimum": 3, "external_rate": external, "prefetch_minimum": 6}
    cache = tiered(page * rng.randint(6, 20), RequestTable(8, 256), **profile)
    unlimited = RadixCache(page * 10_000, RadixProfile(page))
    prompts: list[list[int]] = [[0]]
    running: list[Sequence] = []
    for rid in range(40):
        base = rng.choice(prompts)
        prompt = base[: rng.randint(0, len(base))][: 4 * page] + [rng.randint(0, 2) for _ in range(page * 2)]
        prompts.append(prompt)
        seq = Sequence(rid, array("i", prompt).tobytes())
        cache.prefetch(seq)
        found = cache.match(seq)
        ideal = unlimited.peek(seq).device
        assert sum(found) <= ideal
        if ratio == 50.0 and policy != "write_through_selective":
            assert sum(found) == ideal
        loaded = cache.load_back(seq, rng.choice([None, 8]))
        assert loaded in (0, found.host)
        assert seq.computed == found.device + loaded
        if cache.allocate(seq, seq.prompt_len - seq.computed):
            cache.publish(seq)
            running.append(seq)
            list(serve(unlimited, [Sequence(rid, seq.prompt)]))
        else:
            cache.unlock(seq)
        cache.audit(running)
        while running and (len(running) > 3 or rng.random() < 0.5):
            seq = running.pop(rng.randrange(len(running)))
            rng.choice([cache.finish, cache.retract])(seq)
            cache.audit(running)
