"""Hit rate against cache size, and the bounds that no cache and no order can pass."""

from __future__ import annotations

from radixadvisor.analysis.measure import Measured
from radixadvisor.measure.capacity import capacity_table, lru_curves
from radixadvisor.measure.optimal import optimal_hits
from radixadvisor.results import Bounds, CapacityRow
from radixadvisor.results_order import OrderResult
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

#: Edges touched times sizes evaluated: what the optimal bound may cost beside the measurement itself.
OPTIMAL_BUDGET = 200_000


def capacity_of(
    trace: Trace, found: Measured, kv_bytes: int | None
) -> tuple[tuple[CapacityRow, ...], dict[str, str]]:
    """The table of cache sizes, and why fields of it are empty.

    LRU is exact at every size from one pass. The optimum takes a pass per size: on a large log only some
    sizes, evenly spread over the table, have it.
    """
    paths = found.walks.prompt_paths(trace.unit, found.lengths)
    points = capacity_table(paths, lru_curves(paths), kv_bytes_per_token=kv_bytes, optimal=False)
    affordable = max(OPTIMAL_BUDGET // max(len(paths.edges), 1), 1)
    chosen = _spread(len(points), affordable)
    total = int(found.lengths.sum())
    rows = tuple(
        CapacityRow(
            point.tokens,
            point.gib,
            point.lru_rate,
            optimal_hits(paths, point.tokens)[0] / total if number in chosen and total else None,
            point.steady_lru_rate,
        )
        for number, point in enumerate(points)
    )
    missing = {}
    if len(chosen) < len(points):
        missing["capacity.optimal_rate"] = (
            f"on a log of this size the optimum is evaluated at {len(chosen)} of {len(points)} cache sizes"
        )
    return rows, missing


def _spread(count: int, wanted: int) -> set[int]:
    """At most ``wanted`` indices below ``count``, evenly spread around the middle."""
    if wanted >= count:
        return set(range(count))
    return {(2 * number + 1) * count // (2 * wanted) for number in range(wanted)}


def bounds_of(
    trace: Trace, found: Measured, order: OrderResult | None, setting: Setting, missing: dict[str, str]
) -> Bounds:
    """Tokens that could be served: now, and at most, each bound at least the one before.

    The orders are those of a cache without limits, so they are no less than what any profile serves. A
    section may be shorter than the runs that count as seen before: then the last bound is the order's.
    """
    current = int(found.profiles[found.headline].sum())
    best = possible = None
    if order is None:
        missing["bounds.best_order_found"] = missing["bounds.dp_optimum"] = missing["order"]
    else:
        best = max(current, order.found)
        possible = max(best, order.possible)
    columns = found.ledger.columns
    seen = sum(
        int(column.sum()) for name, column in columns.items() if column is not None and name != "first_seen"
    )
    everywhere = columns["elsewhere"] is not None
    if not everywhere:
        missing["bounds.every_segment_seen_before"] = missing["ledger.elsewhere"]
    evicted = None
    if setting.capacity is None:
        missing["bounds.optimal_eviction"] = "the pool counts as unlimited; see capacity.optimal_rate"
    else:
        paths = found.walks.prompt_paths(trace.unit, found.lengths)
        evicted = optimal_hits(paths, setting.capacity)[0]
    return Bounds(current, best, possible, max(seen, possible or 0) if everywhere else None, evicted)
