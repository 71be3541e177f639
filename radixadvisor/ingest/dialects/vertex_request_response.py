"""Vertex AI's request-response logging as BigQuery keeps it: payload columns are lists of JSON strings.

Requests may be sampled, so gaps between arrivals may be losses. ``promptTokenCount`` includes cached tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, array_of
from radixadvisor.ingest.view import View, counts, encode, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_USAGE = "usageMetadata|usage_metadata"


class _Rows(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        bodies = _payloads(row.get("full_request")) or _payloads(row.get("request_payload"))
        answers = _payloads(row.get("full_response")) or _payloads(row.get("response_payload"))
        answer = answers[-1] if answers else None
        usage = View({"answer": answer}).view("answer", _USAGE) if answer is not None else View({})
        prompt = usage.count("promptTokenCount")
        cached = usage.count("cachedContentTokenCount")
        completion = usage.count("candidatesTokenCount")
        if not bodies:
            raise without_prompt(self.context, prompt, completion, cached)
        endpoint = row.text("endpoint") or ""
        model = row.text("model") or (endpoint.rpartition("/models/")[2] if "/models/" in endpoint else "")
        body = View({"body": bodies[0]}).view("body")
        facts = joined(
            ("request_id", row.get("request_id")),
            ("start_time", row.get("logging_time|timestamp")),
            ("model", body.get("model") or model or row.text("deployed_model_id")),
            ("tenant", body.get("labels", "team|tenant")),
            ("session_id", body.get("labels", "session_id|session")),
            ("usage", counts(prompt, completion, cached)),
        )
        whole = _whole(answers)
        return read_foreign(bodies[0], whole, facts, source, self.context)


def _payloads(raw: Raw | None) -> list[Raw]:
    listed = array_of(raw)
    found = [payload(each) for each in (listed if listed is not None else [raw])]
    return [each for each in found if each is not None]


def _whole(answers: list[Raw]) -> Raw | None:
    """One response; a streamed one comes as several whose parts follow one another."""
    if len(answers) < 2:
        return answers[0] if answers else None
    parts = [
        part
        for answer in answers
        for candidate in View({"answer": answer}).items("answer", "candidates")[:1]
        for part in View({"candidate": candidate}).items("candidate", "content", "parts")
    ]
    return encode({"candidates": [{"content": {"role": "model", "parts": parts}}]})


def _sniff(record: Fields) -> Sign | None:
    if not any(key in record for key in ("full_request", "request_payload")):
        return None
    if not any(key in record for key in ("logging_time", "endpoint", "deployed_model_id", "full_response")):
        return None
    return Sign(95, "payload columns of Vertex AI's request-response log")


DIALECT = Dialect(
    "vertex_request_response",
    "Vertex AI request-response log",
    _sniff,
    _Rows,
    aliases=("vertex",),
    missing="the request payload is empty; enable request-response logging with full payloads.",
)
