"""Apache APISIX's logs of its ai-proxy plugin. ``duration`` in them is the time to the first token."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        summary = row.view("llm_summary")
        prompt, completion = summary.count("prompt_tokens"), summary.count("completion_tokens")
        cached = summary.count("cache_read_input_tokens|cached_tokens")
        written = summary.count("cache_creation_input_tokens")
        body = body_in(row.get("llm_request")) or body_in(row.get("request", "body"))
        if body is None:
            raise without_prompt(self.context, prompt, completion, cached)
        facts = joined(
            ("request_id", row.get("request_id") or row.get("request", "id")),
            ("start_time", row.get("start_time")),
            ("latency_ms", summary.get("upstream_response_time") or row.get("latency|upstream_latency")),
            ("ttft_ms", summary.get("duration")),
            ("model", summary.get("request_model|model")),
            ("user", summary.get("end_user_id")),
            ("tenant", row.get("consumer", "username") or row.get("consumer_name|consumer")),
            ("app", row.get("route_id")),
            ("status_code", row.get("response", "status")),
            ("usage", counts(prompt, completion, cached, written)),
        )
        answer = payload(row.get("llm_response_text", "content")) or payload(row.get("llm_response_text"))
        return read_foreign(body, answer, facts, source, self.context)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    marks = [mark for mark in ("llm_summary", "llm_request") if row.has(mark)]
    marks += [] if marks else [key for key in record if key.startswith(("llm_summary.", "llm_request."))][:1]
    return Sign(95, " and ".join(marks) + " of an APISIX log") if marks else None


DIALECT = Dialect(
    "apisix_ai_log",
    "Apache APISIX ai-proxy log",
    _sniff,
    _Log,
    aliases=("apisix",),
    missing="the plugin logs summaries only; set logging.payloads to true in ai-proxy.",
)
