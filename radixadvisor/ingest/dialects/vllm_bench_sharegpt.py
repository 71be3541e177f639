"""ShareGPT's conversations, as vLLM's benchmark reads them: turns with ``from`` and ``value``."""

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
        return conversation_rows(row, row.items("conversations|conversation"), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    turns = array_of(record.get("conversations", record.get("conversation")))
    first = object_of(turns[0]) if turns else None
    if not first or not {"from", "value"} <= set(first):
        return None
    return Sign(96, "conversations with from and value")


DIALECT = Dialect("vllm_bench_sharegpt", "ShareGPT conversations", _sniff, _Rows, aliases=("sharegpt",))
