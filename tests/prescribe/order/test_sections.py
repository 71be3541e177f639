"""The order of sections against all permutations."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from radixadvisor.prescribe.order.dp import MOST_SECTIONS, best_order, exact_order, greedy_order
from radixadvisor.prescribe.order.table import Table, cost_as_written, cost_of, table_of


def random_table(dice: random.Random, *, precedence: bool) -> Table:
    """Up to six sections of few and of many values, some of them following from another one."""
    sections, rows = dice.randint(1, 6), dice.randint(1, 12)
    columns: list[list[int]] = []
    for _ in range(sections):
        if columns and dice.random() < 0.3:
            source = dice.choice(columns)
            columns.append([value // 2 for value in source])
        else:
            columns.append([dice.randrange(dice.choice((1, 2, 3, 12))) for _ in range(rows)])
    lengths = []
    for column in columns:
        tokens = {value: dice.choice((0, 1, 5, 40)) for value in column}
        lengths.append([tokens[value] for value in column])
    before = [0] * sections
    if precedence:
        line = dice.sample(range(sections), sections)
        for place, section in enumerate(line):
            before[section] = sum(1 << earlier for earlier in line[:place] if dice.random() < 0.3)
    return table_of(columns, lengths, before)


def allowed(table: Table, order: tuple[int, ...]) -> bool:
    return all(
        not table.before[section] & ~sum(1 << earlier for earlier in order[:place])
        for place, section in enumerate(order)
    )


@pytest.mark.parametrize("precedence", [False, True])
def test_the_exact_order_equals_all_permutations_on_400_tables(precedence: bool) -> None:
    dice = random.Random(46 + precedence)
    ratios, useful = [], 0
    for _ in range(400):
        table = random_table(dice, precedence=precedence)
        costs = {
            order: cost_of(table, order)
            for order in permutations(range(table.sections))
            if allowed(table, order)
        }
        best = exact_order(table)
        assert best is not None
        assert best.cost == min(costs.values()) == costs[best.order]
        greedy = greedy_order(table)
        assert greedy.cost == costs[greedy.order] >= best.cost
        useful += len(set(costs.values())) > 1
        if table.tokens > best.cost:
            ratios.append((table.tokens - greedy.cost) / (table.tokens - best.cost))
    assert useful > 200
    assert sum(ratios) / len(ratios) > 0.95
    assert min(ratios) < 1


def test_one_order_for_all_costs_what_its_tree_holds() -> None:
    dice = random.Random(3)
    for _ in range(100):
        table = random_table(dice, precedence=False)
        order = tuple(dice.sample(range(table.sections), table.sections))
        rows = table.values.shape[1]
        assert cost_as_written(table, [order] * rows) == cost_of(table, order)
        paths = {
            tuple((section, int(table.values[section, row])) for section in order[: depth + 1]): int(
                table.lengths[order[depth], row]
            )
            for row in range(rows)
            for depth in range(len(order))
        }
        assert cost_of(table, order) == sum(paths.values())


def test_rules_in_a_circle_allow_no_order() -> None:
    table = table_of([[0, 1], [0, 1]], [[1, 1], [1, 1]], [0b10, 0b01])
    for search in (exact_order, greedy_order):
        with pytest.raises(ValueError, match="precedence"):
            search(table)


def test_more_sections_than_the_exact_search_takes_are_ordered_greedily() -> None:
    dice = random.Random(5)
    for sections, exact in ((MOST_SECTIONS, True), (MOST_SECTIONS + 1, False)):
        columns = [[dice.randrange(2) for _ in range(30)] for _ in range(sections)]
        found = best_order(table_of(columns, [[9] * 30] * sections))
        assert found.exact is exact
        assert sorted(found.order) == list(range(sections))


def test_a_search_beyond_its_budget_is_given_up() -> None:
    dice = random.Random(7)
    table = table_of([[dice.randrange(3) for _ in range(50)] for _ in range(8)], [[4] * 50] * 8)
    assert exact_order(table, 100) is None
    assert exact_order(table) is not None
