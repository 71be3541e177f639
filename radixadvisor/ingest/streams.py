"""Streamed responses put together: server-sent events, or the list of chunks that a logger kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .raw import Fields, Raw, array_of, first_byte, is_null, label, object_of, string
from .view import encode

__all__ = ["is_events", "joined_chunks", "joined_events"]


def is_events(text: str) -> bool:
    """Whether a body is a stream of server-sent events."""
    start = text.lstrip()[:6]
    return start.startswith(("data:", "event:", ":"))


def joined_events(text: str) -> Raw | None:
    """The response of a stream of server-sent events; None where it says nothing."""
    lines = (line[5:].strip() for line in text.splitlines() if line.startswith("data:"))
    return joined_chunks(Raw(line.encode(errors="replace")) for line in lines if line.startswith("{"))


def joined_chunks(chunks: Iterable[Raw]) -> Raw | None:
    """One completion from its chunks, in the form of OpenAI's or Anthropic's API."""
    found = _Joined()
    for chunk in chunks:
        found.add(object_of(chunk) or {})
    return found.completion()


class _Joined:
    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.text: list[str] = []
        self.calls: dict[str, dict[str, Any]] = {}
        self.reason: str | None = None
        self.usage: dict[str, Raw] = {}
        self.whole: Raw | None = None

    def add(self, chunk: Fields) -> None:
        message = object_of(chunk.get("message")) or object_of(chunk.get("response")) or {}
        for fields in (chunk, message):
            for key in ("id", "created", "model"):
                if not is_null(fields.get(key)):
                    self.facts.setdefault(key, fields[key])
            self.usage.update(object_of(fields.get("usage")) or {})
        if "output" in message and array_of(message["output"]):
            self.whole = encode(message)
        for raw in array_of(chunk.get("choices")) or ():
            self._choice(object_of(raw) or {})
        delta = object_of(chunk.get("delta")) or {}
        block = object_of(chunk.get("content_block")) or {}
        index = label(chunk.get("index", chunk.get("contentBlockIndex"))) or "0"
        self._say(delta.get("text", block.get("text")))
        if label(block.get("type")) == "tool_use":
            self._call(index, block.get("id"), block.get("name"), None)
        self._call(index, None, None, delta.get("partial_json"))
        self.reason = label(delta.get("stop_reason")) or label(chunk.get("stopReason")) or self.reason
        for key in ("completion", "generation", "outputText"):
            self._say(chunk.get(key))

    def _choice(self, choice: Fields) -> None:
        self.reason = label(choice.get("finish_reason")) or self.reason
        delta = object_of(choice.get("delta", choice.get("message"))) or {}
        self._say(delta.get("content", choice.get("text")))
        for raw in array_of(delta.get("tool_calls")) or ():
            call = object_of(raw) or {}
            function = object_of(call.get("function")) or {}
            index = label(call.get("index")) or "0"
            self._call(index, call.get("id"), function.get("name"), function.get("arguments"))

    def _say(self, raw: Raw | None) -> None:
        if raw is not None and first_byte(raw) == 0x22:
            self.text.append(string(raw))

    def _call(self, index: str, identity: Raw | None, name: Raw | None, arguments: Raw | None) -> None:
        if identity is None and name is None and arguments is None:
            return
        call = self.calls.setdefault(
            index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = label(identity) or call["id"]
        call["function"]["name"] += label(name) or ""
        if arguments is not None and first_byte(arguments) == 0x22:
            call["function"]["arguments"] += string(arguments)

    def completion(self) -> Raw | None:
        if self.whole is not None:
            return self.whole
        if not self.text and not self.calls and not self.usage:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.text) or None}
        if self.calls:
            message["tool_calls"] = list(self.calls.values())
        told = self.text or self.calls
        choices = [{"message": message, "finish_reason": self.reason}] if told else []
        usage = {"usage": self.usage} if self.usage else {}
        return encode({**self.facts, "choices": choices, **usage})
