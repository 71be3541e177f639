"""Amazon Bedrock's model invocation log. The body's form depends on the model; large bodies lie elsewhere.

``inputTokenCount`` leaves out what Anthropic's models read from the cache or wrote to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, Unusable, array_of, is_empty
from radixadvisor.ingest.streams import joined_chunks
from radixadvisor.ingest.view import View, counts, joined
from radixadvisor.records import Request, Skip, Source, Usage

__all__ = ["DIALECT"]

_READ = "cacheReadInputTokens|cache_read_input_tokens|cacheReadInputTokenCount"
_WRITTEN = "cacheWriteInputTokens|cache_creation_input_tokens|cacheWriteInputTokenCount"


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        answer = payload(row.get("output", "outputBodyJson"))
        chunks = array_of(answer)
        usage = View({"answer": answer}).view("answer", "usage") if answer is not None else View({})
        for chunk in chunks or ():
            spoken = View({"chunk": chunk})
            usage = spoken.view("chunk", "metadata", "usage") or spoken.view("chunk", "usage") or usage
            usage = spoken.view("chunk", "message", "usage") if spoken.has("chunk", "message") else usage
        cached, written = usage.count(_READ), usage.count(_WRITTEN)
        cached = row.count("input", _READ) if cached is None else cached
        written = row.count("input", _WRITTEN) if written is None else written
        prompt = _whole(row.count("input", "inputTokenCount"), usage.count("inputTokens|input_tokens"))
        completion = row.count("output", "outputTokenCount")
        completion = usage.count("outputTokens|output_tokens") if completion is None else completion
        body = body_in(row.get("input", "inputBodyJson"))
        if body is None or is_empty(body):
            total = None if prompt is None else prompt + (cached or 0) + (written or 0)
            fault = without_prompt(self.context, total, completion, cached)
            if row.has("input", "inputBodyS3Path"):
                raise Unusable(fault.reason, "the body lies in S3 under input.inputBodyS3Path")
            raise fault
        whole = joined_chunks(chunks) if chunks is not None else answer
        facts = joined(
            ("request_id", row.get("requestId")),
            ("start_time", row.get("timestamp")),
            ("latency_ms", View({"answer": answer or Raw(b"{}")}).get("answer", "metrics", "latencyMs")),
            ("model", (row.text("modelId") or "").rpartition("/")[2]),
            ("user", row.get("identity", "arn")),
            ("tenant", row.get("requestMetadata", "team|tenant|tenant_id") or row.get("accountId")),
            ("session_id", row.get("requestMetadata", "session_id|session|conversation_id")),
            ("app", row.get("requestMetadata", "app|application|service")),
            ("error", row.get("errorCode")),
            ("usage", counts(prompt, completion, cached, written, beside=True)),
        )
        return [
            _counted(each, prompt, completion, cached, written)
            for each in read_foreign(body, whole, facts, source, self.context)
        ]


def _whole(logged: int | None, answered: int | None) -> int | None:
    """The uncached input; where the log counts more than the answer does, its own count."""
    return logged if answered is None else max(logged or 0, answered)


def _counted(
    record: Request | Skip,
    prompt: int | None,
    completion: int | None,
    cached: int | None,
    written: int | None,
) -> Request | Skip:
    """The log's own counts win over those that a chunk of the answer repeats in part."""
    if isinstance(record, Skip) or prompt is None:
        return record
    whole = prompt + (cached or 0) + (written or 0)
    return replace(record, usage=Usage(whole, completion, cached, written))


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if (row.text("schemaType") or "") == "ModelInvocationLog":
        return Sign(97, "schemaType ModelInvocationLog")
    if row.has("modelId") and (row.has("input", "inputBodyJson") or row.has("input", "inputTokenCount")):
        return Sign(95, "modelId beside an inputBodyJson")
    return None


DIALECT = Dialect(
    "bedrock_invocation_log",
    "Amazon Bedrock model invocation log",
    _sniff,
    _Log,
    aliases=("bedrock",),
    missing="the bodies are not in the log (larger ones lie in S3 under input.inputBodyS3Path); "
    "enable text data delivery and read those objects as well.",
)
