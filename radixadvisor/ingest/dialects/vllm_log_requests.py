"""vLLM's log of requests. Older versions print the prompt at INFO, newer ones only at DEBUG.

Prompts are Python's ``%r`` and may be cut by ``--max-log-len``, without a mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from radixadvisor.ingest.bodies import Context, position_id
from radixadvisor.ingest.calls import not_a_call, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.pythonic import literal_at, value_after
from radixadvisor.ingest.raw import Fields, Unusable
from radixadvisor.ingest.responses import token_bytes
from radixadvisor.ingest.times import parse_time
from radixadvisor.ingest.view import encode
from radixadvisor.records import Output, Request, Skip, Source

__all__ = ["DIALECT"]

_REQUEST = re.compile(
    r"Received request (?P<id>[^\s:]+):|Request (?P<details>\S+) details:"
    r"|Generated response (?P<answered>[^\s:]+?)(?: \([^)]*\))?:"
)
_LORA = re.compile(r"lora_(?:name|path)='([^']*)'")
_PROMPT_LOGPROBS = re.compile(r"\bprompt_logprobs=(\d+)")
_TIME = re.compile(r"\b(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d+)?)")
_YEAR = "2000"  # for lines without one: a leap year, and only differences count
_IN_FLIGHT = 4096
_CERTAIN = 3  # prompts of one length, the longest, that look cut


def _features(line: str) -> dict[str, str]:
    """Parameters for which the engine skips its cache."""
    if "PoolingParams(" in line:
        return {"pooling_params": "true"}
    found = _PROMPT_LOGPROBS.search(line)
    return {"prompt_logprobs": found[1]} if found else {}


class _Log(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._open: dict[str, Request] = {}
        self._bare: dict[str, Source] = {}
        self._lengths: Counter[int] = Counter()

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        line = line_in(record) or ""
        found = _REQUEST.search(line)
        if found is None:
            return not_a_call(self.context, "other lines")
        if found["answered"]:
            return self._answered(found["answered"], line, found.end())
        identity = found["id"] or found["details"]
        told = value_after(line, "prompt: ", found.end())
        tokens = value_after(line, "prompt_token_ids: ", found.end())
        text = told[0] if told else None
        ids = tokens[0] if tokens else None
        lora = _LORA.search(line)
        space = (("lora", lora[1]),) if lora else ()
        if not isinstance(text, str) and not (isinstance(ids, list) and ids):
            return self._without(identity, space, line, found.end(), source)
        request = Request(
            id=identity or position_id(source),
            source=source,
            text=text if isinstance(text, str) else None,
            tokens=None if isinstance(text, str) else token_bytes(encode(ids)),
            arrival=self._time(line),
            namespace=space,
            parameters=_features(line),
        )
        if request.text is None and request.tokens is None:
            raise Unusable("prompt of an unknown form")
        if request.text is not None:
            self._lengths[len(request.text)] += 1
        self._bare.pop(request.id, None)
        return self._started(request)

    def _started(self, request: Request) -> Iterator[Request]:
        earlier = self._open.pop(request.id, None)
        if earlier is not None:
            yield earlier
        self._open[request.id] = request
        if len(self._open) > _IN_FLIGHT:
            yield self._open.pop(next(iter(self._open)))

    def _without(
        self, identity: str, space: tuple[tuple[str, str], ...], line: str, start: int, source: Source
    ) -> Iterable[Request | Skip]:
        """A line that names a request without its prompt: its details may stand in another one."""
        if value_after(line, "prompt: ", start) is None and "prompt: " in line[start : start + 200]:
            raise Unusable("prompt cut by the logger", "the printed prompt does not end")
        if identity in self._open:
            self._open[identity] = replace(self._open[identity], namespace=space)
        else:
            self._bare[identity] = source
        return ()

    def _answered(self, identity: str, line: str, start: int) -> Iterable[Request]:
        """The output of a request that is open."""
        request = self._open.pop(identity, None)
        told = value_after(line, "output: ", start)
        if request is None:
            return ()
        text = told[0] if told and isinstance(told[0], str) else None
        return (replace(request, output=Output(text=text)) if text else request,)

    def _time(self, line: str) -> float | None:
        found = _TIME.search(line[:120])
        if found is None:
            return None
        year, month, day, clock = found.groups()
        if year is None:
            self.context.remarks["log lines name no year; only time differences count"] += 1
        return parse_time(f"{year or _YEAR}-{month}-{day}T{clock.replace(',', '.')}")

    def finish(self) -> Iterable[Request | Skip]:
        yield from self._open.values()
        for source in self._bare.values():
            fault = without_prompt(self.context, None, None)
            yield Skip(source, fault.reason, fault.detail)
        longest = max(self._lengths, default=0)
        if self._lengths[longest] >= _CERTAIN and len(self._lengths) > 1:
            what = f"prompts have exactly {longest} characters and look cut by --max-log-len"
            self.context.remarks[what] += self._lengths[longest]
        self._open, self._bare = {}, {}


def _sniff(record: Fields) -> Sign | None:
    line = line_in(record)
    if line is None or ("equest" not in line and "esponse" not in line):
        return None
    found = _REQUEST.search(line)
    if found is None or literal_at(line, found.end()) is not None:
        return None
    return Sign(95, "lines of vLLM's request logger")


DIALECT = Dialect(
    "vllm_log_requests",
    "vLLM request log",
    _sniff,
    _Log,
    aliases=("vllm",),
    lines=_REQUEST,
    missing="vLLM prints prompts only at DEBUG; start it with --enable-log-requests and "
    "VLLM_LOGGING_LEVEL=DEBUG, without --max-log-len.",
)
