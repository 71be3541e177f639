"""OpenAI Batch input files: one request body per line under a ``custom_id``, without times."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import Call
from radixadvisor.ingest.raw import Fields, Unusable, object_of
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Batch(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        body = object_of(record.get("body"))
        if body is None:
            if "response" in record:
                raise Unusable("batch output without its request", "requests stand in the batch input file")
            raise Unusable("no messages", "the line has no body")
        return read_call(Call(body, (record,)), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    if "custom_id" not in record or not ("body" in record or "response" in record):
        return None
    return Sign(95, "custom_id beside a request body" if "body" in record else "custom_id beside a response")


DIALECT = Dialect("openai_batch", "OpenAI Batch API input file", _sniff, _Batch)
