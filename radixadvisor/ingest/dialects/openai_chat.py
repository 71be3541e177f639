"""OpenAI chat and completion requests: bare bodies, or wrapped in whatever a gateway logs around them."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.records import Request, Skip, Source

from ..bodies import read_call
from ..dialect import Dialect, Reader, Sign
from ..locate import locate
from ..raw import Fields, Unusable

__all__ = ["DIALECT"]


class _Chat(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
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
