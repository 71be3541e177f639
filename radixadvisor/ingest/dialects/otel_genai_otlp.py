"""OpenTelemetry's GenAI conventions in OTLP's JSON, or one span per record.

Messages stand in attributes of the span, in its events, or in log records that name the span; then the two
are joined. Content capture is off by default. Input tokens include cached ones.
"""

from __future__ import annotations

from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields, is_null
from radixadvisor.ingest.span_reader import GROUPS, LOGS, SpanReader
from radixadvisor.ingest.spans import attributes_of
from radixadvisor.ingest.view import View

__all__ = ["DIALECT"]


def _sniff(record: Fields) -> Sign | None:
    top = View(record)
    if top.has(GROUPS[0]) or top.has(LOGS[0]):
        text = b"".join(bytes(raw) for raw in record.values())
        if b"gen_ai." in text or b"openinference." in text:
            return Sign(97, "OTLP with gen_ai attributes")
        return Sign(50, "OTLP")
    if "attributes" not in record and not any(key.startswith(("attributes.", "gen_ai.")) for key in record):
        return None
    told = attributes_of(record)
    spoken = any(key.startswith(("gen_ai.prompt", "gen_ai.input", "gen_ai.operation")) for key in told)
    if spoken or ("gen_ai.request.model" in told and not is_null(record.get("attributes"))):
        return Sign(94, "a span with gen_ai attributes")
    return None


DIALECT = Dialect(
    "otel_genai_otlp",
    "OpenTelemetry GenAI spans and events (OTLP JSON)",
    _sniff,
    SpanReader,
    aliases=("otel", "otel_genai", "otlp"),
    missing="the spans hold no messages; switch content capture on "
    "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true).",
)
