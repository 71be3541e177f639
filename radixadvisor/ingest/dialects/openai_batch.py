"""OpenAI Batch files: requests in the input file, answers in the output file, joined by ``custom_id``.

Neither has times, and the output's order is not that of the input. Requests are given once everything was
read, in the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from radixadvisor.ingest.bodies import Context, read_call
from radixadvisor.ingest.calls import read_foreign
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.foreign import chat_answer
from radixadvisor.ingest.locate import Call
from radixadvisor.ingest.names import Named
from radixadvisor.ingest.raw import Fields, Raw, Unusable, is_null, label, object_of
from radixadvisor.ingest.responses import failure, read_answer, read_usage
from radixadvisor.records import Output, Request, Skip, Source, Usage

__all__ = ["DIALECT"]


class _Answered:
    """What an output line says about its request."""

    def __init__(self, record: Fields, source: Source, context: Context) -> None:
        self.source = source
        response = object_of(record.get("response")) or {}
        answer = read_answer(chat_answer(response.get("body")) or Raw(b"null"), context.interner)
        found: dict[str, Named] = {"error": (record["error"], None)} if "error" in record else {}
        if "status_code" in response:
            found["status"] = response["status_code"], None
        self.failed = failure(found, answer.fields)
        self.usage: Usage | None = read_usage(object_of(answer.fields.get("usage")) or {})
        completion = self.usage.completion if self.usage else None
        self.output = answer.output or (None if completion is None else Output(length=completion))

    def joined(self, request: Request) -> Request | Skip:
        if self.failed is not None:
            return Skip(request.source, "failed request", self.failed)
        return replace(request, output=self.output or request.output, usage=self.usage or request.usage)


class _Batch(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._requests: list[tuple[str, Request]] = []
        self._answers: dict[str, list[_Answered]] = {}

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        body = object_of(record.get("body"))
        identity = label(record.get("custom_id")) or ""
        if body is not None:
            around = {key: value for key, value in record.items() if key not in ("response", "error")}
            for found in self._requested(body, around, source):
                if isinstance(found, Skip):
                    yield found
                else:
                    self._requests.append((identity, found))
        elif "response" not in record and "error" not in record:
            raise Unusable("no messages", "the line has no body")
        if "response" in record or not is_null(record.get("error")):
            self._answers.setdefault(identity, []).append(_Answered(record, source, self.context))

    def _requested(self, body: Fields, around: Fields, source: Source) -> list[Request | Skip]:
        if "messages" in body:
            return read_call(Call(body, (around,)), source, self.context)
        facts = {key: value for key, value in around.items() if key != "body"}
        return read_foreign(body, None, facts, source, self.context)

    def finish(self) -> Iterable[Request | Skip]:
        requests, self._requests = self._requests, []
        for identity, request in requests:
            waiting = self._answers.get(identity)
            yield waiting.pop(0).joined(request) if waiting else request
        detail = "requests stand in the batch input file"
        for answers in self._answers.values():
            for answered in answers:
                yield Skip(answered.source, "batch output without its request", detail)
        self._answers = {}


def _sniff(record: Fields) -> Sign | None:
    if "custom_id" not in record or not ("body" in record or "response" in record):
        return None
    return Sign(95, "custom_id beside a request body" if "body" in record else "custom_id beside a response")


DIALECT = Dialect(
    "openai_batch",
    "OpenAI Batch API input and output files",
    _sniff,
    _Batch,
    aliases=("openai_batch_input", "openai_batch_output"),
)
