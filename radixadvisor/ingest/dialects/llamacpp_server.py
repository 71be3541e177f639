"""The log of llama.cpp's server: what was reused and what was evaluated, no prompts.

``prompt eval time`` counts only the tokens that were not reused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.calls import without_prompt
from radixadvisor.ingest.dialect import NO_PROMPT, Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.raw import Fields
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_LINE = re.compile(r"\bslot +[\w ]+: id +\d+ \| task|prompt eval time =|kv cache rm \[|cached n_tokens = ")
_REUSED = re.compile(r"kv cache rm \[(\d{1,12}), end\)|cached n_tokens = (\d{1,12})")
_EVALUATED = re.compile(r"prompt eval time = +[\d.]+ ms / +(\d{1,12}) tokens")
_OUTPUT = re.compile(r"(?<!prompt )eval time = +[\d.]+ ms / +(\d{1,12}) (?:tokens|runs)")


class _Log(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reused = 0

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        line = line_in(record) or ""
        if (reused := _REUSED.search(line)) is not None:
            self._reused = int(reused[1] or reused[2])
        elif (output := _OUTPUT.search(line)) is not None:
            self.context.remarks["output tokens in calls without prompt text"] += int(output[1])
        elif (evaluated := _EVALUATED.search(line)) is not None:
            reused_tokens, self._reused = self._reused, 0
            without_prompt(self.context, reused_tokens + int(evaluated[1]), None, reused_tokens)
            yield Skip(source, NO_PROMPT)


def _sniff(record: Fields) -> Sign | None:
    line = line_in(record)
    return Sign(93, "lines of llama.cpp's server") if line and _LINE.search(line) else None


DIALECT = Dialect(
    "llamacpp_server",
    "llama.cpp server log",
    _sniff,
    _Log,
    aliases=("llamacpp", "llama_cpp"),
    lines=_LINE,
    missing="the server prints no prompts; log the requests at the client or at a gateway.",
)
