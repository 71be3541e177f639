"""BurstGPT (CSV): times, sessions and lengths, no prompts. A failure has no response tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable

from radixadvisor.ingest.calls import without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.raw import Fields, Unusable
from radixadvisor.ingest.view import View, encode
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_LINE = re.compile(r"^Timestamp,(Session ID,Elapsed time,)?Model,Request tokens,Response tokens")


class _Rows(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        if (line := line_in(record)) is not None:
            if _LINE.search(line):
                return ()
            cells = line.split(",")
            names = ("Request tokens", "Response tokens")
            row = View({name: encode(cell) for name, cell in zip(names, cells[-4:-2], strict=False)})
        output = row.count("Response tokens")
        if output == 0:
            raise Unusable("failed request", "no response tokens")
        raise without_prompt(self.context, row.count("Request tokens"), output)


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if row.has("Request tokens") and row.has("Response tokens"):
        return Sign(96, "Request tokens and Response tokens of BurstGPT")
    line = line_in(record)
    return Sign(96, "the header of BurstGPT") if line and _LINE.search(line) else None


DIALECT = Dialect(
    "burstgpt",
    "BurstGPT trace",
    _sniff,
    _Rows,
    lines=_LINE,
    missing="this trace has lengths only; nothing can be switched on, so take a trace with block hashes "
    "(Mooncake, Bailian) or your own log.",
)
