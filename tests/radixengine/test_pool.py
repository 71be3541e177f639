"""Pool, request table and the heap of leaves on their own."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from radixengine.evict import EVICTION, LeafHeap, eviction_rank
from radixengine.nodes import Node
from radixengine.pool import PoolError, SlotPool, TokenPool
from radixengine.table import RequestTable


def test_capacity_is_whole_pages() -> None:
    assert TokenPool(35, 16).total == SlotPool(35, 16).total == 32
    with pytest.raises(ValueError, match="at least one page of 16 tokens, got 15"):
        TokenPool(15, 16)


def test_pages_come_back_in_the_order_they_were_freed() -> None:
    pool = SlotPool(12, 4)
    first, second = pool.take_slots(4), pool.take_slots(4)
    assert [list(first), list(second)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    pool.give_slots(second)
    pool.give_slots(first)
    assert list(pool.take_slots(12)) == [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]
    assert pool.free == len(pool.free_slots()) == 0


@pytest.mark.parametrize("make", [TokenPool, SlotPool])
def test_impossible_moves_are_refused(make: type[TokenPool]) -> None:
    pool = make(8, 4)
    for wrong in (12, 2):
        with pytest.raises(PoolError):
            pool.take(wrong)
    with pytest.raises(PoolError):
        pool.give(4)


def test_table_rows() -> None:
    table = RequestTable(2, 4)
    assert (table.acquire(), table.acquire(), table.acquire()) == (0, 1, None)
    table.write(1, 1, np.array([7, 8]))
    assert list(table.read(1, 0, 4)) == [0, 7, 8, 0]
    table.release(0)
    assert table.free_rows == 1
    assert table.acquire() == 0
    with pytest.raises(ValueError, match="a request of 5 tokens in a table of 4"):
        table.write(1, 3, np.array([1, 2]))
    with pytest.raises(ValueError, match="at least one row"):
        RequestTable(0, 4)


def test_each_policy_evicts_in_its_order() -> None:
    fields = ("stamp", "created", "hits", "priority")
    nodes = {
        name: dict(zip(fields, values, strict=True))
        for name, values in {
            "a": (5, 1, 1, 0),
            "b": (4, 2, 3, 1),
            "c": (3, 3, 1, 2),
            "d": (2, 4, 4, 0),
        }.items()
    }
    orders = {}
    for policy in EVICTION:
        heap = LeafHeap(eviction_rank(policy), lambda node: True)
        for name, values in nodes.items():
            node = Node(name.encode(), None, 0)
            for field, value in values.items():
                setattr(node, field, value)
            heap.push(node)
        orders[policy] = "".join(node.edge.decode() for node in iter(heap.pop, None) if node)
    assert orders == {
        "lru": "dcba",
        "mru": "abcd",
        "fifo": "abcd",
        "filo": "dcba",
        "lfu": "cabd",
        "slru": "cadb",
        "priority": "dabc",
    }


def test_overtaken_entries_are_swept_out() -> None:
    rng = Random(1)
    nodes = [Node(b"", None, stamp) for stamp in range(50)]
    gone: set[Node] = set()
    heap = LeafHeap(eviction_rank("lru"), lambda node: node not in gone)
    for stamp in range(50, 20_000):
        node = rng.choice(nodes)
        node.stamp = stamp
        heap.push(node)
    assert len(heap) <= 2048
    gone.update(nodes[:10])
    left = list(iter(heap.pop, None))
    assert left == sorted(nodes[10:], key=lambda node: node.stamp)
