"""One object for each distinct message and tool list of a log.

In a log of conversations most messages were seen before. A message is looked up by the hash of its raw JSON
text and decoded only the first time, so reading costs what hashing costs, and memory grows with new content
only.
"""

from __future__ import annotations

from collections.abc import Iterable

import xxhash

from radixadvisor.records import Message, Tool, ToolSet

from .content import messages_of, simple_message, system_message
from .parts import cache_control
from .raw import Raw, Unusable, array_of, first_byte, is_empty, json_text, label, object_of

__all__ = ["Interner"]

_digest = xxhash.xxh3_128_digest


class Interner:
    """Gives the same Message, Tool or ToolSet for the same raw JSON text, for as long as it lives."""

    def __init__(self) -> None:
        self._messages: dict[bytes, tuple[Message, ...]] = {}
        self._answers: dict[bytes, tuple[Message, ...]] = {}
        self._systems: dict[bytes, Message | None] = {}
        self._tools: dict[bytes, Tool] = {}
        self._sets: dict[bytes, ToolSet | None] = {}
        self._parameters: dict[tuple[tuple[str, bytes], ...], dict[str, str]] = {}
        self._none: dict[str, str] = {}

    def messages(self, raws: Iterable[Raw]) -> tuple[Message, ...]:
        """The messages of a request in order; raises Unusable as ``content.messages_of``."""
        known = self._messages
        found: list[Message] = []
        for raw in raws:
            key = _digest(raw)
            turns = known.get(key)
            if turns is None:
                turns = known[key] = simple_message(raw) or messages_of(raw)
            found += turns
        return tuple(found)

    def answer(self, raw: Raw) -> Message:
        """A generated message; one that names no role is the assistant's."""
        key = _digest(raw)
        turns = self._messages.get(key) or self._answers.get(key)
        if turns is None:
            try:
                turns = self._messages[key] = simple_message(raw) or messages_of(raw)
            except Unusable:
                turns = self._answers[key] = messages_of(raw, role="assistant")
        return turns[-1]

    def system(self, raw: Raw) -> Message | None:
        """Anthropic's top-level ``system`` as a message."""
        key = _digest(raw)
        if key not in self._systems:
            self._systems[key] = system_message(raw)
        return self._systems[key]

    def tools(self, raw: Raw | None) -> ToolSet | None:
        """A request's tool definitions in order; None where it has none."""
        if raw is None or is_empty(raw):
            return None
        key = _digest(raw)
        if key not in self._sets:
            listed = array_of(raw)
            if listed is None:
                listed = [raw] if first_byte(raw) == 0x7B else []
            self._sets[key] = ToolSet(tuple(map(self._tool, listed))) if listed else None
        return self._sets[key]

    def _tool(self, raw: Raw) -> Tool:
        key = _digest(raw)
        tool = self._tools.get(key)
        if tool is None:
            fields = (object_of(raw) if first_byte(raw) == 0x7B else None) or {}
            inner = object_of(fields.get("function")) or fields
            name = label(inner.get("name")) or label(fields.get("type")) or ""
            tool = self._tools[key] = Tool(name, json_text(raw), cache_control(fields))
        return tool

    def parameters(self, raws: dict[str, Raw]) -> dict[str, str]:
        """Parameters as JSON text, keys sorted; requests with equal ones share a mapping."""
        if not raws:
            return self._none
        key = tuple((name, bytes(raws[name])) for name in sorted(raws))
        found = self._parameters.get(key)
        if found is None:
            found = self._parameters[key] = {name: json_text(raws[name]) for name in sorted(raws)}
        return found
