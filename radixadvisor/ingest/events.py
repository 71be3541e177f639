"""The events of an OpenHands task as the prompts of its calls."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.records import Message, Output, Request, Source, ToolSet, Usage

from .bodies import Context, position_id
from .raw import Fields, Raw, array_of, first_byte, is_empty, label, object_of, string
from .responses import read_answer
from .view import View, encode

__all__ = ["Task", "is_event", "pairs_of"]

_NO_CALLS = ("system", "message", "recall", "change_agent_state", "null", "pause", "resume", "condensation")


def is_event(record: Fields) -> bool:
    """Whether an object is an event: an action with its arguments, or an observation with its content."""
    if "role" in record or "messages" in record:
        return False
    if "action" in record:
        return bool({"args", "thought", "content", "code", "command"} & set(record))
    return "observation" in record and bool({"content", "extras"} & set(record))


def pairs_of(history: list[Raw]) -> list[Raw]:
    """Events in a row; older outputs pair each action with its observation."""
    found: list[Raw] = []
    for raw in history:
        inner = array_of(raw) if first_byte(raw) == 0x5B else None
        found += [raw] if inner is None else inner
    return found


class Task:
    """Follows the events of one task and gives a request for each call of the model."""

    def __init__(self, row: View, source: Source, context: Context) -> None:
        self.source = source
        self.context = context
        self.session = row.text("instance_id") or row.text("issue", "number") or position_id(source)
        self.model = row.text("metadata", "llm_config", "model") or ""
        self.usages = _by_response(row, "token_usages")
        self.latencies = _by_response(row, "response_latencies")
        self.messages: list[Message] = []
        self.tools: ToolSet | None = None
        self.answered: set[str] = set()
        self.last: float | None = None
        self.calls = 0

    def event(self, record: Fields) -> Iterator[Request]:
        """Take the next event; the request that it tells of, if any."""
        event = View(record)
        time = self.context.clock.read(event.get("timestamp"))
        kind = event.text("action")
        if kind is None:
            self._observe(event)
        elif kind == "system":
            self._say("system", event.get("args", "content") or event.get("message|content"))
            self.tools = self.context.interner.tools(event.get("args", "tools"))
        elif (event.text("source") or "agent") == "agent" and (
            kind not in _NO_CALLS or (kind == "message" and event.has("source"))
        ):
            yield from self._act(event, kind, time)
        elif kind == "message":
            self._say("user", event.get("args", "content") or event.get("message|content"))
        if time is not None:
            self.last = time

    def _say(self, role: str, content: Raw | None, call_id: str | None = None) -> None:
        if content is not None and not is_empty(content):
            turn = {"role": role, "content": content, **({"tool_call_id": call_id} if call_id else {})}
            self.messages += self.context.interner.messages([encode(turn)])

    def _observe(self, event: View) -> None:
        kind = event.text("observation")
        if kind in (None, "agent_state_changed", "null", "condense"):
            return
        call = event.text("tool_call_metadata", "tool_call_id")
        self._say("tool" if call else "user", event.get("content"), call)

    def _act(self, event: View, kind: str, time: float | None) -> Iterator[Request]:
        response = event.view("tool_call_metadata", "model_response")
        identity = response.text("id")
        if identity is not None and identity in self.answered:
            return  # one answer may ask for several actions
        message = self._generated(event, kind, response)
        self.calls += 1
        if identity is not None:
            self.answered.add(identity)
        if self.messages:
            yield self._request(identity, message, time)
        self.messages.append(message)

    def _generated(self, event: View, kind: str, response: View) -> Message:
        if response.items("choices"):
            output = read_answer(encode(response.fields), self.context.interner).output
            if output is not None and output.message is not None:
                return output.message
        thought = event.text("args", "thought|content") or event.text("thought|content") or ""
        turn: dict[str, object] = {"role": "assistant", "content": thought}
        if kind != "message":
            arguments = event.get("args|code|command")
            text = "{}" if arguments is None else string(arguments)
            turn["tool_calls"] = [{"function": {"name": kind, "arguments": text}}]
        return self.context.interner.answer(encode(turn))

    def _request(self, identity: str | None, message: Message, time: float | None) -> Request:
        counted = self.usages.get(identity or "", View({}))
        latency = self.latencies.get(identity or "", View({})).number("latency")
        arrival = self.last if time is None else max(0.0, time - latency) if latency else self.last
        prompt = counted.count("prompt_tokens")
        usage = Usage(
            prompt,
            counted.count("completion_tokens"),
            counted.count("cache_read_tokens"),
            counted.count("cache_write_tokens"),
        )
        return Request(
            id=identity or f"{self.session}#{self.calls}",
            source=self.source,
            model=counted.text("model") or self.model,
            messages=tuple(self.messages),
            tools=self.tools,
            output=Output(message=message),
            usage=None if prompt is None else usage,
            arrival=arrival if arrival is not None else time,
            latency=latency,
            session=self.session,
            app="openhands",
        )

    def finish(self) -> list[Request]:
        """Remark on calls that the events do not show."""
        missing = len(set(self.usages) - self.answered - {""})
        if missing:
            self.context.remarks["calls are in the metrics, but not in the history"] += missing
        return []


def _by_response(row: View, name: str) -> dict[str, View]:
    entries = (object_of(raw) or {} for raw in row.items("metrics", name))
    return {label(entry.get("response_id")) or "": View(entry) for entry in entries if entry}
