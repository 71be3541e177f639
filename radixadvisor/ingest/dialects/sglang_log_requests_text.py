"""SGLang's request log as text: ``Receive: obj=GenerateReqInput(...)`` and ``Finish: obj=..., out={...}``.

Level 2 cuts long prompts in the middle, which shows as two strings with dots between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.pythonic import literal_at, value_after
from radixadvisor.ingest.raw import Fields, Unusable, object_of
from radixadvisor.ingest.sglang_requests import Cut, Requests
from radixadvisor.ingest.times import parse_time
from radixadvisor.ingest.view import encode
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_EVENT = re.compile(r"\b(Receive|Finish)(?: OpenAI)?: obj=")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)")
_KEYS = ("rid", "text", "input_ids", "session_id", "lora_path", "extra_key", "priority", "messages", "model")


class _Log(Requests):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._cut: set[str] = set()

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        line = line_in(record) or ""
        event = _EVENT.search(line)
        if event is None:
            return not_a_call(self.context, "other lines")
        stamp = _TIME.search(line[: event.start()])
        time = parse_time(stamp[1].replace(",", ".")) if stamp else None
        obj, end, cut = _object(line, event.end())
        out = value_after(line, "out=", end)
        held = object_of(encode(out[0])) if out and isinstance(out[0], dict) else {}
        identity = str(obj.get("rid") or ((out and isinstance(out[0], dict) and _id(out[0])) or ""))
        if event[1] == "Receive":
            if cut:
                self._cut.add(identity)
            self.received(identity, _fields(obj), source, time)
            return ()
        if cut or identity in self._cut:
            self._cut.discard(identity)
            self._received.pop(identity, None)
            raise Cut
        return self.finished(identity, _fields(obj), held or {}, source, time)

    def finish(self) -> Iterable[Request | Skip]:
        for identity in sorted(self._cut):
            known = self._received.pop(identity, None)
            if known is not None:
                fault = Cut()
                yield Skip(known[1], fault.reason, fault.detail)
        yield from super().finish()


def _id(out: dict[str, Any]) -> str:
    meta = out.get("meta_info")
    return str(meta.get("id", "")) if isinstance(meta, dict) else ""


def _object(line: str, start: int) -> tuple[dict[str, Any], int, bool]:
    """The fields of the printed request, where they end, and whether one of them was cut."""
    if line[start : start + 1] == "{":
        found = literal_at(line, start)
        if found is None:
            raise Unusable("prompt of an unknown form", "the printed request cannot be read")
        return (found[0] if isinstance(found[0], dict) else {}), found[1], False
    values: dict[str, Any] = {}
    end, cut = start, False
    for key in _KEYS:
        told = value_after(line, f"{key}=", start)
        if told is None:
            continue
        value, after = told
        cut = cut or (key in ("text", "input_ids", "messages") and line[after : after + 4] == " ...")
        cut = cut or (isinstance(value, list) and "..." in value)
        values[key] = value
        end = max(end, after)
    return values, end, cut


def _fields(obj: dict[str, Any]) -> Fields:
    try:
        return object_of(encode({str(key): value for key, value in obj.items() if value is not None})) or {}
    except (TypeError, ValueError, msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise Unusable("prompt of an unknown form", "the printed request cannot be read") from None


def _sniff(record: Fields) -> Sign | None:
    line = line_in(record)
    if line is None or _EVENT.search(line) is None:
        return None
    return Sign(96, "Receive and Finish lines of SGLang")


DIALECT = Dialect(
    "sglang_log_requests_text",
    "SGLang request log (text)",
    _sniff,
    _Log,
    aliases=("sglang_text",),
    lines=_EVENT,
    missing="levels 0 and 1 log no prompts; start SGLang with --log-requests --log-requests-level 3.",
)
