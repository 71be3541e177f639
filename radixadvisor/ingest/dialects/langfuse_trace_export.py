"""A trace as Langfuse exports it, with all its observations. ``trace.input`` repeats an observation's."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.generations import generation, is_generation, says_kind
from radixadvisor.ingest.raw import Fields, Raw, Unusable, array_of, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Trace(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        trace = View(object_of(record.get("trace")) or record)
        rows = [View(object_of(raw) or {}) for raw in _observations(record)]
        rows.sort(key=lambda row: row.text("startTime") or "")
        for row in rows:
            if not is_generation(row):
                yield from not_a_call(self.context, "observations are no generations")
                continue
            try:
                yield from generation(row, trace, source, self.context)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)


def _observations(record: Fields) -> list[Raw]:
    listed = array_of(record.get("observations"))
    return listed or array_of((object_of(record.get("trace")) or {}).get("observations")) or []


def _sniff(record: Fields) -> Sign | None:
    if "observations" not in record and "trace" not in record:
        return None
    for raw in _observations(record)[:20]:
        if says_kind(View(object_of(raw) or {})):
            return Sign(97, "a trace with its observations")
    return None


DIALECT = Dialect(
    "langfuse_trace_export",
    "Langfuse trace export",
    _sniff,
    _Trace,
    aliases=("langfuse_trace",),
    missing="the generations have no input; leave input capture on.",
)
