"""Weka's agentic traces: one session an object, its requests as block hashes, subagents nested.

Ids of a trace whose scope is ``local`` do not compare with those of another one.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context, position_id
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.hashes import blocks_of
from radixadvisor.ingest.raw import Fields, Unusable, array_of, integers, object_of
from radixadvisor.ingest.view import View, encode
from radixadvisor.records import Output, Request, Skip, Source

__all__ = ["DIALECT"]

_DEEPEST = 16


class _Trace(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._ids: dict[tuple[str, int], int] = {}

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        trace = View(record)
        session = trace.text("id|trace_id|session_id") or position_id(source)
        unit = trace.count("block_size") or 64
        local = (trace.text("hash_id_scope") or "local") == "local"
        scope = f"{source.file}:{source.line}" if local else ""
        yield from self._requests(trace, session, unit, scope, source, 0)

    def _requests(
        self, trace: View, session: str, unit: int, scope: str, source: Source, depth: int
    ) -> Iterable[Request | Skip]:
        model = (trace.items("models") or [encode("")])[0]
        for number, raw in enumerate(trace.items("requests"), 1):
            row = View(object_of(raw))
            name = f"{session}#{number}"
            if row.items("requests") and depth < _DEEPEST:
                yield from self._requests(row, name, unit, scope, source, depth + 1)
            if not row.has("hash_ids"):
                continue
            try:
                yield self._request(row, name, unit, scope, source, View({"model": model}))
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)

    def _request(self, row: View, name: str, unit: int, scope: str, source: Source, trace: View) -> Request:
        ids = integers(row.fields["hash_ids"]) if "hash_ids" in row.fields else None
        own = [self._ids.setdefault((scope, each), len(self._ids)) for each in ids or ()]
        held: Fields = {"hash_ids": encode(own)}
        if (length := row.get("in|input_length|input_tokens")) is not None:
            held["input_length"] = length
        output = row.count("out|output_length|output_tokens")
        return Request(
            id=name,
            source=source,
            model=row.text("model") or trace.text("model") or "",
            blocks=blocks_of(held, unit),
            output=None if output is None else Output(length=output),
            arrival=self.context.clock.offset(row.get("t"), "s"),
            latency=row.number("api_time"),
            ttft=row.number("ttft"),
            session=name.rpartition("#")[0],
            app=row.text("type"),
        )


def _sniff(record: Fields) -> Sign | None:
    requests = array_of(record.get("requests"))
    if not requests:
        return None
    first = object_of(requests[0]) or {}
    if "hash_ids" in first or ("block_size" in record and "t" in first):
        return Sign(96, "requests with hash_ids of a Weka trace")
    return None


DIALECT = Dialect("weka_agentic_trace", "Weka agentic trace", _sniff, _Trace, aliases=("weka",))
