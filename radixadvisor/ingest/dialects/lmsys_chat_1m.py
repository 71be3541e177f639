"""LMSYS-Chat-1M: one conversation a row, without times; names are replaced by ``NAME_1`` and so on."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.datasets import conversation_rows
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, array_of, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Rows(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        return conversation_rows(row, row.items("conversation"), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    turns = array_of(record.get("conversation"))
    if not turns or "role" not in (object_of(turns[0]) or {}) or "conversation_hash" in record:
        return None
    return Sign(95, "conversation of LMSYS" if "conversation_id" in record else "conversation with roles")


DIALECT = Dialect("lmsys_chat_1m", "LMSYS-Chat-1M conversations", _sniff, _Rows, aliases=("lmsys",))
