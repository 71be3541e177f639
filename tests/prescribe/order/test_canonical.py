"""Canonical orders of lists, chosen on one half and judged on the other."""

from __future__ import annotations

import random

from radixadvisor.prescribe.order.canonical import WAYS, canonical_order, tree_tokens

LENGTHS = {f"tool_{number:02d}": 10 + number for number in range(30)}


def lists(count: int, seed: int) -> list[list[str]]:
    """Sets of four kinds that share a frequent core, each in a random order."""
    dice = random.Random(seed)
    names = sorted(LENGTHS)
    kinds = [names[29:26:-1] + dice.sample(names[:20], 5) for _ in range(4)]
    found = []
    for _ in range(count):
        items = [*dice.choice(kinds)]
        if dice.random() < 0.3:
            items.append(dice.choice([name for name in names if name not in items]))
        dice.shuffle(items)
        found.append(items)
    return found


def test_every_way_is_a_function_of_the_set_alone() -> None:
    learned, dice = lists(60, 1), random.Random(2)
    for way in WAYS.values():
        order = way(learned)
        for items in lists(40, 3):
            mixed = dice.sample(items, len(items))
            assert order(mixed) == order(items)
            assert sorted(order(items)) == sorted(items)
            assert order(order(items)) == order(items)


def test_the_choice_is_made_on_one_half_and_judged_on_the_other() -> None:
    given = lists(200, 4)
    found = canonical_order(given, LENGTHS)
    assert found.way in WAYS
    judged = given[1::2]
    assert found.tokens == sum(LENGTHS[item] for items in judged for item in items)
    order = WAYS[found.way](given[::2])
    assert found.hits[found.way] == found.tokens - tree_tokens(map(order, judged), LENGTHS)
    assert found.hits[found.way] > 2 * found.hits["as_written"]
    assert found.hits["by_walk"] >= found.hits["by_frequency"] > found.hits["by_id"]


def test_lists_that_are_one_list_already_keep_their_order() -> None:
    given = [["tool_05", "tool_01", "tool_03"]] * 10
    assert canonical_order(given, LENGTHS).way == "as_written"
