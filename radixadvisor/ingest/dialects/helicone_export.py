"""Helicone's request export (JSON, JSON Lines or CSV). Bodies are in it only if they were asked for."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MARKS = ("request_created_at", "request_body", "response_body", "request_model", "request_properties")


class _Export(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        prompt, completion = row.count("prompt_tokens"), row.count("completion_tokens")
        cached, written = row.count("prompt_cache_read_tokens"), row.count("prompt_cache_write_tokens")
        body = body_in(row.get("request_body"))
        if body is None:
            raise without_prompt(self.context, prompt, completion, cached)
        properties = row.view("request_properties|properties")
        facts = joined(
            ("request_id", row.get("request_id")),
            ("start_time", row.get("request_created_at")),
            ("latency_ms", row.get("delay_ms")),
            ("ttft_ms", row.get("time_to_first_token")),
            ("model", row.get("request_model|response_model|model_override")),
            ("session_id", properties.get("Helicone-Session-Id|session_id|session")),
            ("user", row.get("request_user_id|helicone_user|user_id")),
            ("tenant", row.get("organization_id|helicone_org_id")),
            ("status_code", row.get("response_status")),
            ("url", row.get("request_path")),
            ("usage", counts(prompt, completion, cached, written)),
        )
        return read_foreign(body, payload(row.get("response_body")), facts, source, self.context)


def _sniff(record: Fields) -> Sign | None:
    marks = [mark for mark in _MARKS if mark in record]
    if len(marks) < 3:
        return None
    return Sign(95, " and ".join(marks[:2]) + " of a Helicone export")


DIALECT = Dialect(
    "helicone_export",
    "Helicone request export",
    _sniff,
    _Export,
    aliases=("helicone",),
    missing="it was exported without bodies; export again with --include-body.",
)
