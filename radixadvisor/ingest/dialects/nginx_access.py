"""nginx's access log. It holds prompts only where ``$request_body`` is in its format, quotes as ``\\x22``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, not_a_call, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.lines import line_in
from radixadvisor.ingest.raw import Fields
from radixadvisor.ingest.view import encode, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_LINE = re.compile(
    r"^\S+ \S+ (?P<user>\S+) \[(?P<time>[^\]]{1,40})\] "
    r"\"(?P<method>[A-Z]+) (?P<path>\S+)[^\"]*\" (?P<status>\d{3}) "
)
_CALL = re.compile(r"completions|/messages|/responses|generate|/api/chat|/invoke|/converse")
_BODY = re.compile(r"(\{(?:\\x22|\").*\})")
_SECONDS = re.compile(r"\b(?:rt|request_time)=\"?([\d.]+)")
_HEX = re.compile(r"\\x([0-9A-Fa-f]{2})")


class _Log(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        line = line_in(record) or ""
        found = _LINE.match(line)
        if found is None or not _CALL.search(found["path"]) or found["method"] != "POST":
            return not_a_call(self.context, "lines are no model calls")
        body = _BODY.search(line, found.end())
        if body is None:
            raise without_prompt(self.context, None, None)
        held = body_in(encode(_unescaped(body[1])))
        took = _SECONDS.search(line, found.end())
        latency = float(took[1]) if took and took[1].count(".") < 2 and took[1] != "." else None
        facts = joined(
            # The line is written when the request ends.
            ("end_time", found["time"]),
            ("latency_s", latency),
            ("status_code", found["status"]),
            ("user", None if found["user"] == "-" else found["user"]),
        )
        return read_foreign(held, None, facts, source, self.context)


def _unescaped(text: str) -> str:
    """``\\xXX`` as the bytes that it stands for."""
    if "\\x" not in text:
        return text
    whole = _HEX.sub(lambda byte: chr(int(byte[1], 16)), text)
    try:
        return whole.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return whole


def _sniff(record: Fields) -> Sign | None:
    line = line_in(record)
    return Sign(90, "lines of an access log") if line and _LINE.match(line) else None


DIALECT = Dialect(
    "nginx_access",
    "nginx access log",
    _sniff,
    _Log,
    aliases=("nginx",),
    lines=_LINE,
    missing="an access log has no bodies; add $request_body to log_format and raise client_body_buffer_size.",
)
