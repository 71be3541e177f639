"""Azure's published LLM inference traces (CSV): times and lengths, no prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from radixadvisor.ingest.calls import without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_LINE = re.compile(
    r"TIMESTAMP,ContextTokens,GeneratedTokens|^\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+,(\d+),(\d+)\s*$"
)


class _Rows(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        prompt, output = row.count("ContextTokens"), row.count("GeneratedTokens")
        found = _LINE.search(line_in(record) or "") if prompt is None else None
        if found is not None:
            if found[1] is None:
                return ()
            prompt, output = int(found[1][:15]), int(found[2][:15])
        raise without_prompt(self.context, prompt, output)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if row.has("ContextTokens") and row.has("GeneratedTokens"):
        return Sign(96, "ContextTokens and GeneratedTokens of an Azure trace")
    line = line_in(record)
    return Sign(96, "lines of an Azure trace") if line and _LINE.search(line) else None


DIALECT = Dialect(
    "azure_llm_trace",
    "Azure LLM inference trace",
    _sniff,
    _Rows,
    lines=_LINE,
    missing="this trace has lengths only; nothing can be switched on, so take a trace with block hashes "
    "(Mooncake, Bailian) or your own log.",
)
