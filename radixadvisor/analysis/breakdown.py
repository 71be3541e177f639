"""Who loses most: the ledger's row of each application, tenant, model or session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from radixadvisor.analysis.measure import Measured
from radixadvisor.results import Breakdown, LossRow
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["breakdown"]

UNNAMED = ""


def breakdown(trace: Trace, found: Measured, by: str) -> Breakdown:
    """Sum the ledger over the requests of each value of ``by``, those that lose most first.

    A token is lost if it was seen before and not served. Requests without the field count under ``""``.
    """
    columns = {name: column for name, column in found.ledger.columns.items() if column is not None}
    groups: dict[str, list[int]] = {}
    for position, index in enumerate(trace.order):
        groups.setdefault(getattr(trace.requests[index], by) or UNNAMED, []).append(position)
    rows = [_row(name, positions, found, columns) for name, positions in groups.items()]
    return Breakdown(by, tuple(sorted(rows, key=lambda row: (-row.lost_tokens, row.name))))


def _row(name: str, positions: Sequence[int], found: Measured, columns: Mapping[str, Counts]) -> LossRow:
    import numpy as np

    chosen = np.asarray(positions)
    tokens = {bucket: int(column[chosen].sum()) for bucket, column in columns.items()}
    lost = {bucket: count for bucket, count in tokens.items() if bucket not in ("served", "first_seen")}
    total = sum(lost.values())
    return LossRow(
        name=name,
        requests=len(positions),
        prompt_tokens=int(found.lengths[chosen].sum()),
        served_tokens=tokens["served"],
        lost_tokens=total,
        cause=max(lost, key=lambda bucket: lost[bucket]) if total else None,
    )
