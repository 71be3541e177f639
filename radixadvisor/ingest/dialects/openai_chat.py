"""OpenAI chat and completion requests: bare bodies, or wrapped in whatever a gateway logs around them."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context, read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import locate
from radixadvisor.ingest.raw import Fields, Unusable
from radixadvisor.ingest.shortcut import Shortcut
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Chat(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._shortcut = Shortcut(context)

    def read_quickly(self, data: bytes, source: Source) -> Iterable[Request] | None:
        return self._shortcut.read(data, source)

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        self._shortcut.learn(record)
        return read_call(locate(record), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    try:
        call = locate(record)
    except Unusable:
        return None
    if "messages" not in call.body:
        return None
    where = (
        "in a wrapped request body" if call.around else "beside the model name" if "model" in record else ""
    )
    return Sign(60, f"messages with roles {where}".rstrip())


DIALECT = Dialect(
    "openai_chat", "OpenAI chat completion requests, bare or in a logged envelope", _sniff, _Chat
)
