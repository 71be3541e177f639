"""Records with a prompt and little else: ``{"prompt": ...}``, ``{"text": ...}``, ``{"tokens": [...]}``."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.records import Request, Skip, Source

from ..bodies import read_call
from ..dialect import Dialect, Reader, Sign
from ..locate import locate
from ..raw import Fields, Unusable

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
