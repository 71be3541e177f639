"""OpenRouter's generation records: native token counts, no prompts."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Generations(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(object_of(record.get("data")) or record)
        raise without_prompt(
            self.context,
            row.count("native_tokens_prompt"),
            row.count("native_tokens_completion"),
            row.count("native_tokens_cached"),
        )


def _sniff(record: Fields) -> Sign | None:
    row = View(object_of(record.get("data")) or record)
    if row.has("native_tokens_prompt"):
        return Sign(96, "native_tokens_prompt of OpenRouter")
    return None


DIALECT = Dialect(
    "openrouter_generation",
    "OpenRouter generation records",
    _sniff,
    _Generations,
    aliases=("openrouter",),
    missing="OpenRouter keeps no prompts here; log the requests at the client, or broadcast them "
    "to an observability tool.",
)
