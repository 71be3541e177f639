"""LiteLLM's spend logs, whose JSON columns are often encoded twice. A prompt stands, if it was stored at
all, in ``proxy_server_request``. LiteLLM adds cached tokens to ``prompt_tokens`` for every provider.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, Unusable, is_empty, object_of
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MARKS = ("spend", "request_tags", "call_type", "api_key", "startTime", "cache_hit", "metadata")


class _Spend(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        usage = row.view("metadata", "usage_object")
        prompt = usage.count("prompt_tokens") or row.count("prompt_tokens")
        completion = usage.count("completion_tokens") or row.count("completion_tokens")
        details = usage.view("prompt_tokens_details")
        cached = details.count("cached_tokens") if details else usage.count("cache_read_input_tokens")
        body = _body(row)
        if body is None:
            raise without_prompt(self.context, prompt, completion, cached)
        if (row.text("cache_hit") or "").lower() == "true":
            raise Unusable("answered from the gateway's cache", "no engine saw the request")
        facts = joined(
            ("request_id", row.get("request_id")),
            ("start_time", row.get("startTime")),
            ("end_time", row.get("endTime")),
            ("completion_start_time", row.get("completionStartTime")),
            ("latency_ms", row.get("request_duration_ms")),
            ("model", row.get("model|model_group")),
            ("session_id", row.get("session_id")),
            ("tenant", row.get("team_id|organization_id")),
            ("user", row.get("end_user|user")),
            ("status_code", row.get("status")),
            ("call_type", row.get("call_type")),
            ("usage", row.get("metadata", "usage_object") or counts(prompt, completion)),
        )
        return read_foreign(body, payload(row.get("response")), facts, source, self.context)


def _body(row: View) -> Raw | None:
    """The request as the proxy got it, else the messages column."""
    request = body_in(row.get("proxy_server_request"))
    fields = object_of(request) or {}
    if "body" in fields and "messages" not in fields:
        request = body_in(fields["body"])
    if request is not None and not is_empty(request):
        return request
    messages = body_in(row.get("messages"))
    return None if messages is None or is_empty(messages) else messages


def _sniff(record: Fields) -> Sign | None:
    marks = [mark for mark in _MARKS if mark in record]
    if "proxy_server_request" in record and len(marks) > 1:
        return Sign(98, f"proxy_server_request and {marks[0]} of LiteLLM's spend logs")
    if "spend" in record and "request_tags" in record and len(marks) > 4:
        return Sign(98, "spend and request_tags of LiteLLM's spend logs")
    return None


DIALECT = Dialect(
    "litellm_spend_logs",
    "LiteLLM spend logs",
    _sniff,
    _Spend,
    missing="the table keeps no prompts; set general_settings.store_prompts_in_spend_logs to true.",
)
