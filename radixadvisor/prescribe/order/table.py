"""Prompts of one template as a table: a row for each prompt, a column for each section.

Written in one order of columns, the rows form a tree, and what an unlimited cache has to compute are the
tokens of that tree: a section costs its length once for every distinct combination of it and all before it.
A section that a row lacks has a value of length 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Partition", "Table", "cost_as_written", "cost_of", "table_of"]


@dataclass(frozen=True, slots=True)
class Table:
    """``values`` and ``lengths`` have the shape (sections, rows): numbers that are equal where the text is,
    counted from 0 in each section, and its tokens.

    ``before[j]`` are the sections that must come before section j, as a bit mask.
    """

    values: Counts
    lengths: Counts
    before: tuple[int, ...]

    @property
    def sections(self) -> int:
        """The number of columns."""
        return len(self.before)

    @property
    def tokens(self) -> int:
        """The tokens of all rows."""
        return int(self.lengths.sum())


def table_of(
    columns: Sequence[Sequence[Hashable]],
    lengths: Sequence[Sequence[int]],
    before: Sequence[int] | None = None,
) -> Table:
    """A table from values of any kind.

    Args:
        columns: per section the value of each row.
        lengths: tokens, of the same shape; equal values of a section have equal lengths.
        before: per section the mask of those that must come before it; None for no such rule.
    """
    import numpy as np

    numbered = []
    for column in columns:
        numbers: dict[Hashable, int] = {}
        numbered.append([numbers.setdefault(value, len(numbers)) for value in column])
    rows = len(columns[0]) if columns else 0
    return Table(
        np.array(numbered, np.int64).reshape(len(columns), rows),
        np.array(lengths, np.int64).reshape(len(columns), rows),
        tuple(before) if before is not None else (0,) * len(columns),
    )


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows that agree in some sections: ``groups`` numbers them, ``firsts`` holds one row of each group."""

    groups: Counts
    firsts: Counts

    @staticmethod
    def whole(table: Table) -> Partition:
        """All rows in one group: nothing is written yet."""
        import numpy as np

        rows = table.values.shape[1]
        return Partition(np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64))

    def by(self, column: Counts) -> Partition:
        """Apart by one more section."""
        import numpy as np

        keys = self.groups * (int(column.max(initial=0)) + 1) + column
        _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
        return Partition(groups.reshape(-1), firsts)


def cost_of(table: Table, order: Sequence[int]) -> int:
    """Tokens to compute when all rows are written in one order of sections."""
    partition, cost = Partition.whole(table), 0
    for section in order:
        partition = partition.by(table.values[section])
        cost += int(table.lengths[section][partition.firsts].sum())
    return cost


def cost_as_written(table: Table, orders: Sequence[Sequence[int]]) -> int:
    """Tokens to compute when every row has an order of its own."""
    seen: dict[tuple[int, int, int], int] = {}
    cost = 0
    values, lengths = table.values.tolist(), table.lengths.tolist()
    for row, order in enumerate(orders):
        node = 0
        for section in order:
            key = (node, section, values[section][row])
            child = seen.get(key)
            if child is None:
                child = seen[key] = len(seen) + 1
                cost += lengths[section][row]
            node = child
    return cost
