"""Mooncake traces: prompts as prefix-chained block ids of 512 tokens, times in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import position_id
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.hashes import blocks_of, length_of
from radixadvisor.ingest.raw import Fields, label
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

UNIT = 512


class _Trace(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        request = Request(
            id=label(record.get("request_id")) or position_id(source),
            source=source,
            model=label(record.get("model")) or "",
            blocks=blocks_of(record, UNIT),
            output=length_of(record),
            arrival=self.context.clock.offset(record.get("timestamp"), "ms"),
            session=label(record.get("session_id")),
        )
        return (request,)


def _sniff(record: Fields) -> Sign | None:
    if "hash_ids" not in record or "chat_id" in record:
        return None
    return Sign(95, "hash_ids of a Mooncake trace, read as blocks of 512 tokens")


DIALECT = Dialect("mooncake", "Mooncake hash trace", _sniff, _Trace)
