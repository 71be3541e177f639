"""LiteLLM's StandardLoggingPayload. LiteLLM adds cached tokens to ``prompt_tokens`` for every provider."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import Call
from radixadvisor.ingest.raw import Fields, Unusable, is_null
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MARKS = ("litellm_call_id", "model_parameters", "custom_llm_provider", "completionStartTime", "model_group")


class _Payload(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        if is_null(record.get("messages")):
            raise Unusable("no messages", "the payload was logged without its messages")
        # Where no session is named, the trace is the nearest thing.
        facts = {"session_id": record["trace_id"]} if "trace_id" in record else {}
        around = (facts,) if is_null(record.get("session_id")) else ()
        return read_call(Call(record, around, record.get("response")), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    marks = [mark for mark in _MARKS if mark in record]
    if len(marks) < 2:
        return None
    return Sign(95, " and ".join(marks[:2]))


DIALECT = Dialect("litellm", "LiteLLM StandardLoggingPayload", _sniff, _Payload)
