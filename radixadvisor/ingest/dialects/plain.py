"""Records with a prompt and little else: ``{"prompt": ...}``, ``{"text": ...}``, ``{"tokens": [...]}``."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import locate
from radixadvisor.ingest.raw import Fields, Unusable
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Plain(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        return read_call(locate(record), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    try:
        call = locate(record)
    except Unusable:
        return None
    if "messages" in call.body:
        return None
    return Sign(40, "a prompt as text or token ids")


DIALECT = Dialect("plain", "Prompts as text or token ids, one per line", _sniff, _Plain)
