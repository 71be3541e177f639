"""Access logs of Envoy AI Gateway: keys that its operator chose, numbers also as strings, no bodies."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Unusable
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        if (row.number("response_code") or 0) >= 400:
            raise Unusable("failed request", f"status {row.text('response_code')}")
        raise without_prompt(
            self.context,
            row.count("gen_ai.usage.input_tokens"),
            row.count("gen_ai.usage.output_tokens"),
            row.count("gen_ai.usage.cached_input_tokens|gen_ai.usage.cache_read.input_tokens"),
        )


def _sniff(record: Fields) -> Sign | None:
    if "attributes" in record or not any(key.startswith("gen_ai.") for key in record):
        return None
    if any(key.startswith(("gen_ai.prompt", "gen_ai.input", "gen_ai.completion")) for key in record):
        return None
    if {"response_code", "duration", "x-envoy-origin-path", "method", "bytes_received"} & set(record):
        return Sign(96, "gen_ai keys in an access log of Envoy")
    return None


DIALECT = Dialect(
    "envoy_ai_gateway",
    "Envoy AI Gateway access log",
    _sniff,
    _Log,
    aliases=("envoy",),
    missing="access logs have no bodies; switch on the OpenTelemetry tracing of the gateway.",
)
