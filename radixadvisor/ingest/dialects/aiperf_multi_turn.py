"""AIPerf's multi-turn input: a session a line, its turns in a list."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.aiperf import Turns
from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields, array_of, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Reader(Turns):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        session = View(record).text("session_id")
        for raw in array_of(record.get("turns")) or ():
            yield from self.turn(object_of(raw) or {}, session, source)


def _sniff(record: Fields) -> Sign | None:
    turns = array_of(record.get("turns"))
    first = object_of(turns[0]) if turns else None
    if not first or not {"text", "texts", "image", "images", "prompt"} & set(first):
        return None
    return Sign(95, "turns with text of an AIPerf file")


DIALECT = Dialect("aiperf_multi_turn", "AIPerf multi-turn input", _sniff, _Reader)
