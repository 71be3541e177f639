"""Bailian (Qwen) traces: prefix-chained block ids of 16 tokens, times in seconds, chats with parents."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context, position_id
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.hashes import blocks_of, length_of
from radixadvisor.ingest.raw import Fields, label
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

UNIT = 16


class _Trace(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._roots: dict[str, str] = {}

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        chat = label(record.get("chat_id"))
        request = Request(
            id=chat or position_id(source),
            source=source,
            model=label(record.get("model")) or "",
            blocks=blocks_of(record, UNIT),
            output=length_of(record),
            arrival=self.context.clock.offset(record.get("timestamp"), "s"),
            session=self._session(chat, label(record.get("parent_chat_id"))),
            app=label(record.get("type")),
        )
        return (request,)

    def _session(self, chat: str | None, parent: str | None) -> str | None:
        """The first chat of a conversation; a parent that the trace does not hold counts as the first."""
        if chat is None:
            return None
        root = chat if parent is None or parent == "-1" else self._roots.get(parent, parent)
        self._roots[chat] = root
        return root


def _sniff(record: Fields) -> Sign | None:
    if "hash_ids" not in record or "chat_id" not in record:
        return None
    return Sign(95, "hash_ids and chat_id of a Bailian trace, read as blocks of 16 tokens")


DIALECT = Dialect("bailian", "Bailian (Qwen) hash trace", _sniff, _Trace)
