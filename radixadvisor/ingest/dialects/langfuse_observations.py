"""Langfuse's observations, one row each. Only generations are calls; the input comes in many forms.

Usage details of LangChain leave cached tokens out of ``input``, those of OpenTelemetry include them.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.generations import generation, is_generation, says_kind
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Observations(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        if not is_generation(row):
            return not_a_call(self.context, "observations are no generations")
        return generation(row, View({}), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if says_kind(row) and row.has("traceId") and not row.has("observations"):
        return Sign(96, "an observation of Langfuse with its type and traceId")
    return None


DIALECT = Dialect(
    "langfuse_observations",
    "Langfuse observations",
    _sniff,
    _Observations,
    aliases=("langfuse",),
    missing="the generations have no input; leave input capture on, or export the field 'input' too.",
)
