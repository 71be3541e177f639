"""The best order of sections: exact over subsets, and a quick greedy one.

What it costs to append section j behind the set S depends on S alone, not on the order inside it. So with
f(S) the least cost of writing S first, f(S) = min over j of f(S - j) + cost(j | S - j). A section that those
before it determine is appended at once: it splits nothing, and further back it could only cost more. That
leaves few of the 2^n sets to look at.
"""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.prescribe.order.table import Partition, Table, cost_of

__all__ = ["MOST_SECTIONS", "Ordering", "best_order", "exact_order", "greedy_order"]

MOST_SECTIONS = 16
"""Beyond so many sections the order is a greedy one."""

_BUDGET = 40_000_000
"""Sets times rows that the exact search looks at, at most, before it gives way to the greedy order."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """An order of sections and the tokens to compute with it; ``exact`` where no order costs less."""

    order: tuple[int, ...]
    cost: int
    exact: bool


def best_order(table: Table) -> Ordering:
    """The best order where it can be told, else the greedy one."""
    found = exact_order(table, _BUDGET) if table.sections <= MOST_SECTIONS else None
    return greedy_order(table) if found is None else found


def exact_order(table: Table, budget: int | None = None) -> Ordering | None:
    """The order that costs least; None if more than ``budget`` sets times rows had to be looked at.

    Raises:
        ValueError: the rules of precedence allow no order.
    """
    rows = max(table.values.shape[1], 1)
    everything = (1 << table.sections) - 1
    layer: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    partitions = {0: Partition.whole(table)}
    looked = 0
    for _ in range(table.sections):
        following: dict[int, tuple[int, tuple[int, ...]]] = {}
        found: dict[int, Partition] = {}
        for mask, (cost, order) in layer.items():
            here = partitions[mask]
            allowed = [j for j in range(table.sections) if not mask >> j & 1 and not table.before[j] & ~mask]
            for section in allowed:
                target = mask | 1 << section
                if target not in found:
                    found[target] = here.by(table.values[section])
                    looked += rows
            settled = [j for j in allowed if len(found[mask | 1 << j].firsts) == len(here.firsts)]
            for section in settled[:1] or allowed:
                target = mask | 1 << section
                spent = cost + int(table.lengths[section][found[target].firsts].sum())
                if target not in following or (spent, (*order, section)) < following[target]:
                    following[target] = spent, (*order, section)
            if budget is not None and looked > budget:
                return None
        layer = following
        partitions = {mask: found[mask] for mask in layer}
    if everything not in layer:
        raise ValueError("the rules of precedence allow no order")
    cost, order = layer[everything]
    return Ordering(order, cost, True)


def greedy_order(table: Table) -> Ordering:
    """Always the section next whose repeats save most tokens for each group that it splits off; sections that
    split nothing come at once.

    Raises:
        ValueError: the rules of precedence allow no order.
    """
    order: list[int] = []
    mask, partition = 0, Partition.whole(table)
    while len(order) < table.sections:
        allowed = [j for j in range(table.sections) if not mask >> j & 1 and not table.before[j] & ~mask]
        if not allowed:
            raise ValueError("the rules of precedence allow no order")
        splits = {section: partition.by(table.values[section]) for section in allowed}
        chosen = max(allowed, key=lambda j: (_worth(table, j, len(partition.firsts), splits[j]), -j))
        order.append(chosen)
        mask |= 1 << chosen
        partition = splits[chosen]
    return Ordering(tuple(order), cost_of(table, order), False)


def _worth(table: Table, section: int, groups: int, split: Partition) -> tuple[bool, float]:
    """Whether a section splits nothing, and the tokens it saves per group that it splits off."""
    new = len(split.firsts) - groups
    saved = int(table.lengths[section].sum()) - int(table.lengths[section][split.firsts].sum())
    return not new, saved / new if new else float(saved)
