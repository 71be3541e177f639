"""SageMaker's data capture: the endpoint's input and output as strings, in JSON or base64."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Capture(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        side = row.view("captureData", "endpointInput")
        body = body_in(side.get("data"), base64_encoded=_encoded(side))
        if body is None:
            raise without_prompt(self.context, None, None)
        event = row.view("eventMetadata")
        facts = joined(
            ("request_id", event.get("eventId|inferenceId")),
            ("start_time", event.get("inferenceTime|invocationTime")),
            ("session_id", event.get("customAttributes")),
            ("app", event.get("endpointName|variantName")),
        )
        side = row.view("captureData", "endpointOutput")
        answer = payload(side.get("data"), base64_encoded=_encoded(side))
        return read_foreign(body, answer, facts, source, self.context)


def _encoded(side: View) -> bool:
    return (side.text("encoding") or "").upper() == "BASE64"


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if row.has("captureData", "endpointInput") or row.has("captureData", "endpointOutput"):
        return Sign(95, "captureData of SageMaker")
    return None


DIALECT = Dialect(
    "sagemaker_data_capture",
    "SageMaker data capture",
    _sniff,
    _Capture,
    aliases=("sagemaker",),
    missing="the input was not captured; add Input to the endpoint's CaptureOptions.",
)
