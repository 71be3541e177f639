"""What a model with real weights is given: tokens it knows, prompts it has positions for."""

from __future__ import annotations

from array import array
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from radixengine.shapes import TINY

from radixadvisor import load
from radixadvisor.errors import UsageError
from radixadvisor.replaying.orders import Order
from radixadvisor.replaying.planning import fitting
from radixadvisor.replaying.sizing import Sizing
from radixadvisor.replaying.vocabulary import PrefixIds, SameIds, ids_for


def machine(*, random: bool, positions: int) -> Any:
    return SimpleNamespace(random=random, shape=replace(TINY, max_position=positions))


def order(name: str, *sizes: int) -> Order:
    return Order(name, {index: array("i", range(size)).tobytes() for index, size in enumerate(sizes)})


def test_requests_longer_than_the_model_are_left_out_of_every_order() -> None:
    sizing = Sizing((0, 1, 2), 1, 8, ("noted",))
    orders = order("given", 20, 24, 25), order("rewritten", 30, 10, 10)
    kept, fit = fitting(sizing, orders, machine(random=False, positions=32))
    assert kept.chosen == (1,)
    assert [list(one.prompts) for one in fit] == [[1], [1]]
    assert kept.notes[0] == "noted"
    assert kept.notes[1].startswith("2 requests are left out")
    assert fitting(sizing, orders, machine(random=True, positions=32)) == (sizing, orders)
    with pytest.raises(UsageError, match="No request fits"):
        fitting(sizing, orders, machine(random=False, positions=12))


def test_tokens_stay_where_the_model_knows_them(tmp_path: Any) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"tokens": [1, 2, 300], "output": [4]}\n')
    trace = load(str(log))
    assert isinstance(ids_for(trace, [0], 1, 301), SameIds)
    assert isinstance(ids_for(trace, [0], 1, None), SameIds)
    assert isinstance(ids_for(trace, [0], 1, 300), PrefixIds)
    assert isinstance(ids_for(trace, [0], 2, 301), PrefixIds)
    given = array("i", ids_for(trace, [0], 1, 300).encode(trace.prompt(0)))
    assert len(given) == 3
    assert max(given) < 300
