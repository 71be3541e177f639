"""The best order of a log's sections: searched behind the fixes, tried on the log, and set against bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.analysis.canonical import list_orders
from radixadvisor.analysis.sectioned import Sectioned, sectioned
from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.placing import shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import place_of, zone_index
from radixadvisor.prescribe.counterfactual import Trial, try_all, try_further
from radixadvisor.prescribe.order.dp import Ordering, best_order, greedy_order
from radixadvisor.prescribe.order.rows import batch_order
from radixadvisor.prescribe.order.table import cost_of
from radixadvisor.records import EditSpec, Request
from radixadvisor.results_order import BatchRow, OrderResult, SectionOrder
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace.build import TOKEN_BYTES

if TYPE_CHECKING:
    from radixadvisor.prescribe.variant import Variant

__all__ = ["order_result", "ordered"]

_MOST_ROWS = 2_000
_SHOWN = 400


@dataclass(frozen=True, slots=True)
class _Searched:
    """A table of sections, the best order of it, and what the rows cost as they are (characters)."""

    table: Sectioned
    best: Ordering
    greedy: Ordering
    written: int
    total: int

    @property
    def gains(self) -> bool:
        return self.written > self.best.cost


def ordered(view: LogView, candidates: Sequence[Candidate]) -> Trial:
    """Suspected faults and orders of sections tried together, then what is left to order behind the fixes."""
    first = _search(view, view.request)
    trial = try_all(view, [*candidates, *(_candidate(view, found) for found in first if found.gains)])
    left = [_candidate(view, found) for found in _search(view, _state(view, trial.after)) if found.gains]
    return try_further(view, trial, left) if left else trial


def order_result(view: LogView, trial: Trial) -> OrderResult:
    """Rates and bounds of the order that is prescribed, per log and per message that has sections."""
    searched = _search(view, _state(view, trial.after))
    gap = sum(_tokens_short(view, found) for found in searched if found.gains)
    base, after = trial.before, trial.after
    served, total = int(after.served.sum()), int(after.lengths.sum())
    gained = int(base.computed.sum()) - int(after.computed.sum())
    given = int(base.served.sum())
    return OrderResult(
        rate_given=given / int(base.lengths.sum()),
        rate_ordered=served / total,
        rate_possible=min((served + gap) / total, 1.0),
        given=given,
        found=given + gained,
        possible=given + gained + gap,
        sections=tuple(_row(view, found) for found in searched),
        lists=list_orders(view, _state(view, after)),
    )


def _search(view: LogView, state: Callable[[int], Request]) -> list[_Searched]:
    searched = []
    for table in sectioned(view, state):
        numbers = table.table()
        written = table.written(numbers)
        searched.append(_Searched(table, best_order(numbers), greedy_order(numbers), written, numbers.tokens))
    return searched


def _state(view: LogView, variant: Variant) -> Callable[[int], Request]:
    return lambda index: variant.requests.get(index) or view.request(index)


def _tokens_short(view: LogView, found: _Searched) -> int:
    """Tokens by which the rows miss the best order."""
    pool = view.trace.pools[view.trace.pool_of[found.table.requests[0]]]
    if not isinstance(pool, SegmentPool):
        return 0
    encode = pool.tokenizer.encode
    table = found.table.table(lambda text: len(encode(text)) // TOKEN_BYTES)
    return max(found.table.written(table) - min(best_order(table).cost, cost_of(table, found.best.order)), 0)


def _candidate(view: LogView, found: _Searched) -> Candidate:
    table = found.table
    names = [table.names[column - 1] for column in found.best.order if column]
    name = "RA307" if table.mixed else "RA305"
    index = table.requests[0]
    request = view.request(index)
    at = zone_index(request, table.zone) or 0
    message = (request.messages or ())[at]
    title = (
        f"The sections of {shown(table.zone)} come in several orders"
        if table.mixed
        else f"Sections of {shown(table.zone)} that vary stand before sections that come again"
    )
    return Candidate(
        rule=name,
        title=title,
        place=Place(request.id, *place_of(message, at, 0, len(message.text))),
        before="\n".join(part.name for part in table.rows[0].sections)[:_SHOWN],
        after="\n".join(names)[:_SHOWN],
        requests=table.requests,
        edit=EditSpec(
            "order_sections",
            rule(name).safety,
            table.clusters,
            (("joiner", table.joiner), ("order", json.dumps(names)), ("zone", table.zone)),
        ),
    )


def _row(view: LogView, found: _Searched) -> SectionOrder:
    table = found.table
    saved = found.total - found.best.cost
    cluster = view.clusters[table.clusters[0]]
    return SectionOrder(
        application=cluster.name,
        zone=table.zone,
        requests=len(table.requests),
        order=tuple(table.names[column - 1] for column in found.best.order if column),
        exact=found.best.exact,
        greedy_ratio=(found.total - found.greedy.cost) / saved if saved else 1.0,
        share_written=1 - found.written / found.total,
        share_best=saved / found.total,
        batch=_batch(table),
    )


def _batch(table: Sectioned) -> BatchRow | None:
    """What orders per row would bring; None for a log of too many rows, or of one that varies in nothing."""
    if not 1 < len(table.rows) <= _MOST_ROWS or len({row.before for row in table.rows}) > 1:
        return None
    numbers = table.table()
    found = batch_order(numbers)
    total = max(numbers.tokens, 1)
    return BatchRow(found.single / total, found.grouped / total, found.per_row)
