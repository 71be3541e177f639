"""AIPerf's extension of Mooncake traces: messages, texts or whole payloads instead of hashes."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.aiperf import Turns
from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Reader(Turns):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        return self.turn(record, View(record).text("session_id"), source)


def _sniff(record: Fields) -> Sign | None:
    if not {"hash_ids", "model", "type"}.isdisjoint(record):
        return None
    timed = "timestamp" in record or "delay" in record
    if "text_input" in record and (timed or "output_length" in record):
        return Sign(95, "text_input of an AIPerf trace")
    if "payload" in record and timed and object_of(record["payload"]) and len(record) <= 5:
        return Sign(90, "payload and timestamp of an AIPerf trace")
    if "messages" in record and timed and "output_length" in record:
        return Sign(90, "messages and output_length of an AIPerf trace")
    return None


DIALECT = Dialect("aiperf_mooncake_ext", "AIPerf extended Mooncake trace", _sniff, _Reader)
