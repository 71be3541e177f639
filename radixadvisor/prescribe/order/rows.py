"""The order of a batch of rows, and of the fields in each, so that neighbours share the longest beginnings.

Either all rows have their fields in one order, and the rows are sorted; or each row has an order of its own,
by greedy group recursion: take the value that saves most tokens where all rows with it stand together with
that field in front, then go on inside the group without that field, and outside of it. That is the greedy
form of the exact recursion, which tries every value. (Liu et al., Optimizing LLM Queries in Relational Data
Analytics Workloads, 2024; there with squared lengths, here with tokens saved.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import NamedTuple

from radixadvisor.prescribe.order.dp import best_order
from radixadvisor.prescribe.order.table import Table

__all__ = ["LEAST_WIN", "RowOrder", "batch_order", "exact_groups", "greedy_groups", "lexicographic"]

LEAST_WIN = 0.05
"""By how much more hits fields in an order per row have to win, to be worth prompts that differ in form."""

_LOOK_AHEAD = 64
"""Blocks of at most so many rows weigh three groups by their end, larger ones take the best at once."""

Placed = list[tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """A batch in order: ``rows``, and ``fields`` in each of them.

    ``hits`` are tokens that a row shares with the beginning of the row before it. ``single`` and ``grouped``
    are those of the best single order and of greedy groups; ``per_row`` says which was taken.
    """

    rows: tuple[int, ...]
    fields: tuple[tuple[int, ...], ...]
    hits: int
    single: int
    grouped: int
    per_row: bool


def batch_order(table: Table) -> RowOrder:
    """The better of the best single order of fields and an order per row, which has to win by 5 %."""
    best = best_order(table)
    rows = lexicographic(table, best.order)
    single = table.tokens - best.cost
    placed = greedy_groups(table)
    grouped = _hits(table, placed)
    if grouped > (1 + LEAST_WIN) * single:
        numbers, fields = zip(*placed, strict=True)
        return RowOrder(tuple(numbers), tuple(fields), grouped, single, grouped, True)
    return RowOrder(rows, (best.order,) * len(rows), single, single, grouped, False)


def lexicographic(table: Table, fields: Sequence[int]) -> tuple[int, ...]:
    """Rows sorted by their fields in one order: all rows that share a beginning stand together."""
    columns = [table.values[field].tolist() for field in fields]
    rows = range(table.values.shape[1])
    return tuple(sorted(rows, key=lambda row: ([column[row] for column in columns], row)))


def greedy_groups(table: Table) -> Placed:
    """Rows in order, each with the order of its fields. The rules of precedence are not kept: a batch's rows
    are data, not instructions.
    """
    values, lengths = table.values.tolist(), table.lengths.tolist()
    placed: Placed = []
    # (rows, fields left, fields in front): a stack instead of recursion, for tables of many groups.
    everything = range(table.values.shape[1])
    stack: list[tuple[list[int], tuple[int, ...], tuple[int, ...]]] = [
        (list(everything), tuple(range(table.sections)), ())
    ]
    while stack:
        rows, left, front = stack.pop()
        found = _picked(values, lengths, rows, left)
        if found is None:
            placed += [(row, front + left) for row in rows]
            continue
        if found.rest:
            stack.append((found.rest, left, front))
        stack.append((found.group, found.left, (*front, found.field)))
    return placed


class _Pick(NamedTuple):
    """A field, the rows of one value of it, the other rows, the other fields, and the tokens saved."""

    saved: int
    field: int
    group: list[int]
    rest: list[int]
    left: tuple[int, ...]


Cells = list[list[int]]


def _picked(values: Cells, lengths: Cells, rows: list[int], left: tuple[int, ...]) -> _Pick | None:
    """The group to form; among few rows, the one of the best three that a greedy end turns out best for."""
    picks = _picks(values, lengths, rows, left)
    if len(picks) < 2 or len(rows) > _LOOK_AHEAD:
        return picks[0] if picks else None
    return max(picks, key=lambda pick: pick.saved + _rest_saves(values, lengths, pick, left))


def _rest_saves(values: Cells, lengths: Cells, pick: _Pick, left: tuple[int, ...]) -> int:
    """What plain greed saves inside and outside of a group."""
    saved = 0
    stack = [(pick.group, pick.left), (pick.rest, left)]
    while stack:
        rows, fields = stack.pop()
        for best in _picks(values, lengths, rows, fields)[:1]:
            saved += best.saved
            stack += [(best.group, best.left), (best.rest, fields)]
    return saved


def _picks(values: Cells, lengths: Cells, rows: list[int], left: tuple[int, ...]) -> list[_Pick]:
    """The groups that save most at once, at most three, the best first."""
    found: list[tuple[int, int, int]] = []
    for field in left:
        counts = Counter([values[field][row] for row in rows])
        size = {values[field][row]: lengths[field][row] for row in rows}
        found += [
            (-size[value] * (count - 1), field, value)
            for value, count in counts.items()
            if count > 1 and size[value]
        ]
    picks = []
    for saved, field, value in nsmallest(3, found):
        group = [row for row in rows if values[field][row] == value]
        rest = [row for row in rows if values[field][row] != value]
        picks.append(_Pick(-saved, field, group, rest, tuple(other for other in left if other != field)))
    return picks


def _hits(table: Table, placed: Placed) -> int:
    values, lengths = table.values.tolist(), table.lengths.tolist()
    hits = 0
    for (above, first), (row, second) in pairwise(placed):
        for field, other in zip(first, second, strict=True):
            if field != other or values[field][above] != values[field][row]:
                break
            hits += lengths[field][row]
    return hits


def exact_groups(table: Table) -> int:
    """The hits of the exact recursion over every field and value. The cost is exponential."""
    values, lengths = table.values.tolist(), table.lengths.tolist()
    known: dict[tuple[frozenset[int], frozenset[int]], int] = {}

    def best(rows: frozenset[int], fields: frozenset[int]) -> int:
        if len(rows) < 2 or not fields:
            return 0
        key = rows, fields
        if key not in known:
            found = 0
            for field in fields:
                for value in {values[field][row] for row in rows}:
                    group = frozenset(row for row in rows if values[field][row] == value)
                    saved = lengths[field][min(group)] * (len(group) - 1)
                    found = max(found, saved + best(group, fields - {field}) + best(rows - group, fields))
            known[key] = found
        return known[key]

    return best(frozenset(range(table.values.shape[1])), frozenset(range(table.sections)))
