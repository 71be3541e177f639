"""AIPerf's single-turn input: a text, or texts and media, a line."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.aiperf import Turns
from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Reader(Turns):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        return self.turn(record, View(record).text("session_id"), source)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if not row.has("text|texts") or row.has("model|messages|prompt|response|output|id|request_id"):
        return None
    marks = [name for name in ("images", "audios", "texts", "delay", "session_id") if name in record]
    if "texts" in record or ("session_id" in record and "output_length" in record) or "delay" in record:
        return Sign(90, f"text and {(marks or ['texts'])[0]} of an AIPerf file")
    return None


DIALECT = Dialect("aiperf_single_turn", "AIPerf single-turn input", _sniff, _Reader)
