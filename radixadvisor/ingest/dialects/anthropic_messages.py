"""Anthropic Messages requests: top-level ``system``, content blocks, ``cache_control``; bare or wrapped.

``usage.input_tokens`` counts only what was neither read from the cache nor written to it; ``Usage.prompt``
adds these up.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import locate
from radixadvisor.ingest.raw import Fields, Raw, Unusable, array_of, first_byte, is_empty, label, object_of
from radixadvisor.ingest.responses import response_in
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_LOOK_AT = 4  # messages of a record: enough to meet a block, and few enough for a look


class _Messages(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        return read_call(locate(record), source, self.context)


def _blocks(messages: list[Raw]) -> bool:
    """Whether the content holds blocks that only this API knows; a system turn means another API."""
    found = False
    for raw in messages[:_LOOK_AT]:
        fields = object_of(raw) or {}
        if label(fields.get("role")) not in ("user", "assistant"):
            return False
        content = fields.get("content")
        for block in array_of(content) or () if content and first_byte(content) == 0x5B else ():
            inner = object_of(block) or {}
            found = found or label(inner.get("type")) in _BLOCKS or "source" in inner
    return found


def _sniff(record: Fields) -> Sign | None:
    try:
        call = locate(record)
    except Unusable:
        return None
    body = call.body
    if "messages" not in body:
        return None
    if not is_empty(body.get("system")):
        return Sign(90, "messages beside a top-level system prompt")
    if any("input_schema" in (object_of(tool) or {}) for tool in array_of(body.get("tools")) or ()):
        return Sign(90, "tools with an input_schema")
    if "anthropic_version" in body or _blocks(array_of(body["messages"]) or []):
        return Sign(90, "content blocks of the Messages API")
    response = next((raw for fields in (*call.around, body) if (raw := response_in(fields))), None)
    answer = object_of(response) or {}
    if label(answer.get("type")) == "message" and "content" in answer:
        return Sign(90, "a response of type message")
    return None


DIALECT = Dialect("anthropic_messages", "Anthropic Messages API requests", _sniff, _Messages)
