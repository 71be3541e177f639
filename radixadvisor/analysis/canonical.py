"""Lists whose items vary from request to request, in one order: the tools sent, the documents retrieved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from radixadvisor.diagnose.items import items_of
from radixadvisor.diagnose.placing import shown
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.order.canonical import canonical_order
from radixadvisor.records import Request
from radixadvisor.results_order import CanonicalRow

__all__ = ["list_orders"]

_LEAST = 8
_MOST = 2_000


def list_orders(view: LogView, state: Callable[[int], Request]) -> tuple[CanonicalRow, ...]:
    """The ways to order the tools of the log, and the items of each block that lists them.

    Args:
        view: the log.
        state: a request as it is with the text fixes.
    """
    return tuple(row for row in (_tools(view, state), *_items(view)) if row is not None)


def _tools(view: LogView, state: Callable[[int], Request]) -> CanonicalRow | None:
    sets = [tools for index in view.order[:_MOST] if (tools := state(index).tools) is not None]
    return _row("tools", [[tool.raw for tool in tools.tools] for tools in sets])


def _items(view: LogView) -> list[CanonicalRow | None]:
    """Blocks of several items, one list for each distinct text of the block."""
    rows = []
    for zone in view.zones:
        for slot in zone.slots:
            found = [items_of(value) for value in slot.values[:_MOST]] if slot.lines > 2 else []
            lists = [items.texts for items in found if items is not None]
            if lists and len(lists) > len(found) // 2:
                rows.append(_row(f"items in {shown(slot.zone)}", lists))
    return rows


def _row(what: str, lists: Sequence[Sequence[str]]) -> CanonicalRow | None:
    """None where there is nothing to choose: few lists, one list alone, or items that never come again."""
    unique = [tuple(dict.fromkeys(items)) for items in lists]
    distinct = set(unique)
    items = [item for one in distinct for item in one]
    if len(unique) < _LEAST or len(distinct) < 2 or len(set(items)) == len(items):
        return None
    found = canonical_order(unique, {item: max(len(item), 1) for item in items})
    shares = {way: hits / found.tokens for way, hits in found.hits.items()}
    return CanonicalRow(what, len(unique), found.way, shares)
