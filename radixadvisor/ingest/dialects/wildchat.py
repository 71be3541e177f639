"""WildChat: one conversation a row, with times and models."""

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
    if turns is None or (turns and "role" not in (object_of(turns[0]) or {})):
        return None
    if any(key in record for key in ("conversation_hash", "hashed_ip", "toxic")):
        return Sign(97, "conversation and conversation_hash of WildChat")
    return None


DIALECT = Dialect("wildchat", "WildChat conversations", _sniff, _Rows)
