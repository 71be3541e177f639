"""Azure's diagnostic logs. Only those of API Management hold prompts, cut at a size that is set there."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, first_byte, label
from radixadvisor.ingest.view import View, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_REQUEST = "backendRequestBody|requestBody|RequestMessages|BackendRequestBody"
_RESPONSE = "backendResponseBody|responseBody|ResponseMessages"


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        inside = row.view("properties")
        body = body_in(inside.get(_REQUEST)) or body_in(row.get(_REQUEST))
        if body is None:
            usage = inside.view("usage")
            raise without_prompt(
                self.context,
                usage.count("prompt_tokens") or inside.count("promptTokens"),
                usage.count("completion_tokens") or inside.count("completionTokens"),
            )
        facts = joined(
            ("request_id", row.get("correlationId|CorrelationId")),
            ("start_time", row.get("time|TimeGenerated|timestamp")),
            ("latency_ms", row.get("durationMs|TotalTime|DurationMs") or inside.get("durationMs|totalTime")),
            ("model", inside.get("modelDeploymentName|modelName|deploymentName")),
            ("user", inside.get("userId")),
            ("tenant", inside.get("apimSubscriptionId|subscriptionId|productId")),
            ("status_code", inside.get("responseCode|backendResponseCode") or row.get("resultSignature")),
        )
        answer = payload(inside.get(_RESPONSE)) or payload(row.get(_RESPONSE))
        if answer is not None and first_byte(answer) == 0x22:
            answer = None
        return read_foreign(body, answer, facts, source, self.context)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    category = label(row.get("category|Category")) or ""
    if category in ("ApiManagementGatewayLogs", "GatewayLogs", "ApiManagementGatewayLlmLog"):
        return Sign(95, f"category {category} of Azure")
    if row.has("properties", _REQUEST) or (category == "RequestResponse" and row.has("properties")):
        return Sign(95, "properties of an Azure diagnostic log")
    resource = (label(row.get("resourceId")) or "").upper()
    if "MICROSOFT.COGNITIVESERVICES" in resource or "MICROSOFT.APIMANAGEMENT" in resource:
        return Sign(90, "a resource of Azure")
    return None


DIALECT = Dialect(
    "azure_openai_diagnostic",
    "Azure OpenAI diagnostic and API Management logs",
    _sniff,
    _Log,
    aliases=("azure", "azure_apim"),
    missing="Azure's own RequestResponse logs hold no prompts; put API Management in front and log "
    "the bodies of backend requests there.",
)
