"""OpenInference spans as Phoenix exports them: flattened, nested, or as the columns of a table.

Only spans of kind LLM are calls: chains and agents repeat what their children were given.
"""

from __future__ import annotations

from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.span_reader import SpanReader
from radixadvisor.ingest.spans import attributes_of

__all__ = ["DIALECT"]

_MARKS = ("openinference.", "llm.input_messages", "llm.model_name", "llm.token_count", "llm.prompts")


def _sniff(record: Fields) -> Sign | None:
    if "attributes" not in record and not any(key.startswith(("attributes.", "llm.")) for key in record):
        return None
    for key in attributes_of(record):
        if key.startswith(_MARKS):
            return Sign(96, "a span with OpenInference attributes")
    return None


DIALECT = Dialect(
    "phoenix_openinference_spans",
    "OpenInference spans (Phoenix)",
    _sniff,
    SpanReader,
    aliases=("phoenix", "openinference"),
    missing="the spans hold no messages; unset OPENINFERENCE_HIDE_INPUTS and ..._HIDE_INPUT_MESSAGES.",
)
