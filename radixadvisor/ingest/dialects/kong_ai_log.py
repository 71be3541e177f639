"""Kong Gateway's logs of its AI plugins. Payloads are strings, and there only with ``log_payloads``."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, not_a_call, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, object_of
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_PROXY = "proxy|ai-proxy|ai-proxy-advanced"


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        proxy = row.view("ai", _PROXY) or View(object_of(_proxy(row)))
        if not proxy:
            return not_a_call(self.context)
        usage = proxy.view("usage")
        prompt, completion = usage.count("prompt_tokens"), usage.count("completion_tokens")
        cached = usage.count("cached_tokens|prompt_tokens_details.cached_tokens|cache_read_input_tokens")
        body = body_in(proxy.get("payload", "request"))
        if body is None:
            raise without_prompt(self.context, prompt, completion, cached)
        facts = joined(
            ("request_id", row.get("request", "id")),
            ("start_time", row.get("started_at")),
            ("latency_ms", row.get("latencies", "proxy|request") or proxy.get("meta", "llm_latency")),
            ("ttft_ms", usage.get("time_to_first_token") or proxy.get("meta", "time_to_first_token")),
            ("model", proxy.get("meta", "request_model|response_model")),
            ("tenant", row.get("consumer", "username|custom_id|id")),
            ("session_id", row.get("request", "headers", "x-session-id|session-id")),
            ("status_code", row.get("response", "status")),
            ("usage", counts(prompt, completion, cached)),
        )
        return read_foreign(body, payload(proxy.get("payload", "response")), facts, source, self.context)


def _proxy(row: View) -> Raw | None:
    """What the AI plugin wrote: under its own name, or under that of the instance."""
    found = row.get("ai", _PROXY)
    if found is None and row.has("ai", "usage"):
        found = row.get("ai")
    if found is None:
        for raw in (object_of(row.get("ai")) or {}).values():
            if {"usage", "meta", "payload"} & set(object_of(raw) or {}):
                return raw
    return found


def _sniff(record: Fields) -> Sign | None:
    if "ai" not in record and not any(key.startswith("ai.proxy") for key in record):
        return None
    if _proxy(View(record)) is None and not any(key.startswith("ai.proxy") for key in record):
        return None
    return Sign(95, "ai.proxy of a Kong log")


DIALECT = Dialect(
    "kong_ai_log",
    "Kong AI Gateway log",
    _sniff,
    _Log,
    aliases=("kong",),
    missing="the plugin logs statistics only; set logging.log_payloads to true.",
)
