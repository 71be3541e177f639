"""Rows and fields of a batch against the exact recursion."""

from __future__ import annotations

import random
from itertools import pairwise

from radixadvisor.prescribe.order.dp import exact_order
from radixadvisor.prescribe.order.rows import batch_order, exact_groups, greedy_groups, lexicographic
from radixadvisor.prescribe.order.table import Table, cost_of, table_of


def random_rows(dice: random.Random) -> Table:
    rows, fields = dice.randint(2, 8), dice.randint(1, 4)
    columns = [[dice.randrange(dice.choice((2, 3, 4))) for _ in range(rows)] for _ in range(fields)]
    lengths = []
    for column in columns:
        size = dice.randint(1, 60)
        tokens = {value: max(1, round(size * dice.uniform(0.5, 1.5))) for value in column}
        lengths.append([tokens[value] for value in column])
    return table_of(columns, lengths)


def shared(table: Table, above: int, first: tuple[int, ...], row: int, second: tuple[int, ...]) -> int:
    hits = 0
    for field, other in zip(first, second, strict=True):
        if field != other or table.values[field, above] != table.values[field, row]:
            break
        hits += int(table.lengths[field, row])
    return hits


def test_greedy_groups_stay_within_two_percent_of_the_exact_recursion() -> None:
    dice = random.Random(11)
    greedy = exact = 0
    worse = 0
    for _ in range(400):
        table = random_rows(dice)
        placed = greedy_groups(table)
        assert sorted(row for row, _ in placed) == list(range(table.values.shape[1]))
        assert all(sorted(fields) == list(range(table.sections)) for _, fields in placed)
        found = sum(
            shared(table, above, first, row, second) for (above, first), (row, second) in pairwise(placed)
        )
        best = exact_groups(table)
        assert found <= best
        worse += found < best
        greedy, exact = greedy + found, exact + best
    assert worse
    assert greedy / exact > 0.98


def test_sorted_rows_share_all_but_one_copy_of_each_beginning() -> None:
    dice = random.Random(12)
    for _ in range(100):
        table = random_rows(dice)
        order = tuple(dice.sample(range(table.sections), table.sections))
        rows = lexicographic(table, order)
        hits = sum(shared(table, one, order, two, order) for one, two in pairwise(rows))
        assert hits == table.tokens - cost_of(table, order)


def test_an_order_per_row_is_taken_only_if_it_wins_by_five_percent() -> None:
    dice = random.Random(13)
    taken = []
    for _ in range(400):
        table = random_rows(dice)
        found, best = batch_order(table), exact_order(table)
        assert best is not None
        assert found.single == table.tokens - best.cost
        assert found.per_row == (found.grouped > 1.05 * found.single)
        assert found.hits == (found.grouped if found.per_row else found.single)
        told = zip(found.rows, found.fields, strict=True)
        rows = list(told)
        assert found.hits == sum(shared(table, *one, *two) for one, two in pairwise(rows))
        taken.append(found.per_row)
    assert True in taken
    assert False in taken
