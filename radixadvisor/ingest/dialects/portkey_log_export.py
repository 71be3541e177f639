"""Portkey's log export: JSON Lines with request, response and units; a policy can withhold any field."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MARKS = ("ai_org", "ai_model", "req_units", "res_units", "prompt_slug", "response_status_code")


class _Export(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        prompt, completion = row.count("req_units"), row.count("res_units")
        body = body_in(row.get("request"))
        inner = View({"request": body}).view("request") if body is not None else View({})
        body = body_in(inner.get("body")) or body
        if body is None:
            raise without_prompt(self.context, prompt, completion)
        metadata = row.view("metadata")
        facts = joined(
            ("request_id", row.get("id")),
            ("start_time", row.get("created_at")),
            ("latency_ms", row.get("response_time")),
            ("model", row.get("ai_model")),
            ("session_id", metadata.get("session_id|session|_session|conversation_id|thread_id")),
            ("user", metadata.get("_user|user|user_id")),
            ("tenant", metadata.get("_team|team|tenant|_organisation|organisation")),
            ("status_code", row.get("response_status_code")),
            ("usage", counts(prompt, completion)),
        )
        return read_foreign(body, payload(row.get("response")), facts, source, self.context)


def _sniff(record: Fields) -> Sign | None:
    marks = [mark for mark in _MARKS if mark in record]
    if len(marks) < 3:
        return None
    return Sign(95, " and ".join(marks[:2]) + " of a Portkey export")


DIALECT = Dialect(
    "portkey_log_export",
    "Portkey log export",
    _sniff,
    _Export,
    aliases=("portkey",),
    missing="the export lacks the request; ask for the field 'request' in requested_data.",
)
