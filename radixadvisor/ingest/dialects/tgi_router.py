"""The log of TGI's router: durations only; it shortens prompts even at debug level."""

from __future__ import annotations

import re
from collections.abc import Iterable

from radixadvisor.ingest.calls import not_a_call, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.raw import Fields, label
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_LINE = re.compile(
    r"\b(?:generate|chat_completions|completions|compat_generate)\w*\{.*inference_time=|text_generation_router"
)


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        text = b" ".join(bytes(raw) for raw in record.values())
        if b"inference_time" not in text:
            return not_a_call(self.context, "other lines")
        raise without_prompt(self.context, None, None)


def _sniff(record: Fields) -> Sign | None:
    if (label(record.get("target")) or "").startswith("text_generation_router"):
        return Sign(95, "target of TGI's router")
    line = line_in(record)
    return Sign(95, "lines of TGI's router") if line and _LINE.search(line) else None


DIALECT = Dialect(
    "tgi_router",
    "TGI router log",
    _sniff,
    _Log,
    aliases=("tgi",),
    lines=_LINE,
    missing="TGI logs no prompts, not even at debug level; log requests at the client or at a gateway.",
)
