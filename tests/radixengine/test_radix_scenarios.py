"""Small scenes with known tables: shared slots, splits, locks, duplicates, a pool that is too small."""

from __future__ import annotations

from array import array

import numpy as np
from radixengine.cache import Occupancy, Sequence
from radixengine.nodes import Node
from radixengine.pool import SlotPool
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.serial import Served, serve
from radixengine.table import RequestTable


def letters(text: str) -> bytes:
    return array("i", [ord(letter) for letter in text]).tobytes()


def numbers(start: int, count: int) -> bytes:
    return array("i", range(start, start + count)).tobytes()


def start(cache: RadixCache, rid: int, prompt: str) -> Sequence:
    """Match and allocate, as before a forward pass."""
    seq = Sequence(rid, letters(prompt))
    matched = cache.match(seq).device
    assert cache.allocate(seq, seq.prompt_len - matched)
    return seq


def row(cache: RadixCache, seq: Sequence) -> list[int]:
    assert cache.table is not None
    return [int(slot) for slot in cache.table.read(seq.state.row, 0, seq.prompt_len)]


def nodes(cache: RadixCache) -> dict[str, Node]:
    return {"".join(map(chr, array("i", node.edge))): node for _, node, _ in cache.tree.walk()}


def hand_out(cache: RadixCache, slots: list[int]) -> None:
    """Let the pool be fragmented so that these are its free slots, in this order."""
    pool = cache.ledger.pool
    assert isinstance(pool, SlotPool)
    pool.take_slots(pool.free)
    pool.give_slots(np.array(slots, dtype=np.int32))


def test_three_requests_share_slots_and_split_nodes() -> None:
    cache = RadixCache(64, table=RequestTable(3, 8))
    hand_out(cache, [10, 11, 12, 20, 25, 40, 41])
    before = start(cache, 0, "AB")
    cache.publish(before)
    cache.finish(before)

    first = start(cache, 1, "ABCD")
    assert set(nodes(cache)) == {"AB"}
    assert row(cache, first) == [10, 11, 12, 20]
    cache.publish(first)
    second = start(cache, 2, "ABCF")
    assert set(nodes(cache)) == {"AB", "C", "D"}
    cache.publish(second)
    third = start(cache, 3, "ABGH")
    cache.publish(third)

    assert [row(cache, seq) for seq in (first, second, third)] == [
        [10, 11, 12, 20],
        [10, 11, 12, 25],
        [10, 11, 40, 41],
    ]
    made = nodes(cache)
    assert {edge: node.lock for edge, node in made.items()} == {"AB": 3, "C": 2, "D": 1, "F": 1, "GH": 1}
    slots = {
        edge: [int(slot) for slot in node.slots] for edge, node in made.items() if node.slots is not None
    }
    assert slots == {"AB": [10, 11], "C": [12], "D": [20], "F": [25], "GH": [40, 41]}
    parents = {edge: node.parent for edge, node in made.items()}
    assert parents["C"] is parents["GH"] is made["AB"]
    assert parents["D"] is parents["F"] is made["C"]
    for seq in (first, second, third):
        cache.finish(seq)
    assert {node.lock for node in nodes(cache).values()} == {0}
    assert cache.occupancy().evictable == 7


def test_what_two_requests_computed_at_once_is_kept_once() -> None:
    cache = RadixCache(16, table=RequestTable(2, 8))
    first, second = start(cache, 1, "ABCD"), start(cache, 2, "ABCE")
    assert first.state.cached == second.state.cached == 0
    assert cache.occupancy() == Occupancy(free=8, evictable=0, protected=0, held=8, total=16)
    assert row(cache, second) == [4, 5, 6, 7]
    cache.publish(first)
    cache.publish(second)
    assert row(cache, first) == [0, 1, 2, 3]
    assert row(cache, second) == [0, 1, 2, 7]
    assert cache.occupancy() == Occupancy(free=11, evictable=0, protected=5, held=0, total=16)
    cache.audit([first, second])
    assert isinstance(cache.ledger.pool, SlotPool)
    assert list(cache.ledger.pool.free_slots()[-3:]) == [4, 5, 6]


def test_a_request_that_is_not_published_cannot_be_hit() -> None:
    cache = RadixCache(16)
    first = start(cache, 1, "ABCD")
    assert cache.peek(Sequence(2, letters("ABCD"))).device == 0
    cache.publish(first)
    assert cache.peek(Sequence(2, letters("ABCD"))).device == 3


def test_a_partial_page_is_held_and_then_freed() -> None:
    cache = RadixCache(16, RadixProfile(4), RequestTable(1, 16))
    seq = start(cache, 1, "ABCDEF")
    cache.publish(seq)
    assert cache.occupancy() == Occupancy(free=8, evictable=0, protected=4, held=4, total=16)
    cache.finish(seq)
    assert cache.occupancy() == Occupancy(free=12, evictable=4, protected=0, held=0, total=16)
    cache.audit([])


def test_a_pool_too_small_refuses_one_request_and_serves_the_others() -> None:
    cache = RadixCache(8)
    sequences = [
        Sequence(0, letters("ABCD")),
        Sequence(1, letters("ABCDEFGHI")),
        Sequence(2, letters("ABCE")),
    ]
    assert list(serve(cache, sequences)) == [
        Served(0, 0, 0, True, 0, True),
        Served(1, 4, 0, False, 0, False),
        Served(2, 3, 0, True, 0, True),
    ]
    assert cache.occupancy().protected == 0


def test_an_output_is_cut_where_the_pool_ends() -> None:
    cache = RadixCache(8)
    (served,) = serve(cache, [Sequence(0, letters("ABCD"), letters("efghijkl"))])
    assert served == Served(0, 0, 0, True, 4, False)
    assert cache.peek(Sequence(1, letters("ABCDefghX"))).device == 8


def test_thinking_stays_out_of_the_cache() -> None:
    for cache, strip in ((RadixCache(32, RadixProfile(prompt_only=True)), False), (RadixCache(32), True)):
        seq = Sequence(0, letters("ABCD"), letters("efg"), cache_prompt_only=strip)
        list(serve(cache, [seq]))
        assert cache.occupancy() == Occupancy(free=28, evictable=4, protected=0, held=0, total=32)


def test_without_a_free_table_row_a_request_waits() -> None:
    cache = RadixCache(32, table=RequestTable(1, 8))
    first = start(cache, 1, "ABC")
    second = Sequence(2, letters("XYZ"))
    cache.match(second)
    assert not cache.allocate(second, 3)
    cache.retract(first)
    assert cache.allocate(second, 3)
    cache.audit([second])


def test_a_retracted_request_leaves_only_what_it_published() -> None:
    cache = RadixCache(32)
    seq = Sequence(1, letters("ABC"), letters("defg"))
    cache.match(seq)
    cache.allocate(seq, 3)
    cache.publish(seq)
    assert cache.decode(seq, 2) == 2
    cache.retract(seq)
    assert seq.computed == 0
    assert cache.occupancy() == Occupancy(free=29, evictable=3, protected=0, held=0, total=32)


def test_pinned_prefixes_survive() -> None:
    cache = RadixCache(64)
    assert cache.pin(numbers(0, 16))
    assert not cache.pin(numbers(500, 60))
    list(serve(cache, [Sequence(rid, numbers(1000 * rid, 40)) for rid in range(1, 4)]))
    assert cache.occupancy().protected == 16
    assert cache.peek(Sequence(9, numbers(0, 20))).device == 16
    cache.audit([])


def test_priority_protects_and_its_path_with_it() -> None:
    cache = RadixCache(12, RadixProfile(evict="priority"))
    served = [
        Sequence(0, letters("ABCD"), priority=2),
        Sequence(1, letters("WXYZ")),
        Sequence(2, letters("KLMN")),
    ]
    list(serve(cache, served))
    list(serve(cache, [Sequence(3, letters("PQRS"))]))
    assert set(nodes(cache)) == {"ABCD", "KLMN", "PQRS"}


def test_reading_part_of_a_node_refreshes_its_tail_in_the_engine_only() -> None:
    survivors = []
    for refresh in (True, False):
        cache = RadixCache(8, RadixProfile(refresh_tail=refresh))
        prompts = ("ABCD", "WXYZ", "ABX")
        list(serve(cache, [Sequence(rid, letters(prompt)) for rid, prompt in enumerate(prompts)]))
        survivors.append(set(nodes(cache)))
    assert survivors == [{"AB", "CD", "X"}, {"AB", "X", "WXYZ"}]
