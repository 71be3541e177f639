"""Spans, their events and the log records that name them, joined to calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from radixadvisor.records import Request, Skip, Source

from .bodies import Context
from .calls import not_a_call, read_foreign, without_prompt
from .dialect import Reader
from .raw import Fields, Raw, Unusable, label, object_of
from .responses import read_usage
from .spans import attributes_in, attributes_of, facts_of, prompt_of, response_of
from .view import View, encode, joined

__all__ = ["GROUPS", "LOGS", "SpanReader"]

_CALLS = ("chat", "text_completion", "completion", "generate_content", "generate")
GROUPS = ("resourceSpans|resource_spans", "scopeSpans|scope_spans|instrumentationLibrarySpans", "spans")
LOGS = ("resourceLogs|resource_logs", "scopeLogs|scope_logs|instrumentationLibraryLogs")
_SPOKEN = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def spans_in(record: Fields) -> Iterator[tuple[Fields, Fields]]:
    """The spans of a record with the attributes of their resource."""
    top = View(record)
    groups = top.items(GROUPS[0])
    if not groups:
        yield record, attributes_in((object_of(record.get("resource")) or {}).get("attributes"))
        return
    for group in groups:
        resource = View(object_of(group))
        about = attributes_in(resource.get("resource", "attributes"))
        for scope in resource.items(GROUPS[1]):
            for span in View(object_of(scope)).items(GROUPS[2]):
                yield object_of(span) or {}, about


def _logged(record: Fields) -> Iterator[Fields]:
    for group in View(record).items(LOGS[0]):
        for scope in View(object_of(group)).items(LOGS[1]):
            yield from (object_of(each) or {} for each in View(object_of(scope)).items("logRecords"))


def _is_call(span: Fields) -> bool:
    kind = label(span.get("openinference.span.kind")) or ""
    operation = label(span.get("gen_ai.operation.name"))
    if kind:
        return kind.upper() == "LLM"
    if operation is not None:
        return operation.lower() in _CALLS
    return any(
        key.startswith(("gen_ai.request.model", "gen_ai.prompt", "llm.input_messages")) for key in span
    )


class SpanReader(Reader):
    """Reads spans; those without messages wait for log records that name them."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._waiting: dict[str, tuple[Fields, Source]] = {}
        self._spoken: dict[str, tuple[Source, Fields, list[Raw]]] = {}

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        for entry in _logged(record):
            yield from self._event(entry, source)
        if View(record).has(LOGS[0]):
            return
        for span, resource in spans_in(record):
            try:
                yield from self._span(span, resource, source)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)

    def _span(self, span: Fields, resource: Fields, source: Source) -> Iterable[Request | Skip]:
        told = attributes_of(span)
        kind = label(span.get("span_kind"))
        if kind is not None and "openinference.span.kind" not in told and "SPAN_KIND" not in kind:
            told["openinference.span.kind"] = encode(kind)
        if not _is_call(told):
            return not_a_call(self.context, "spans are no model calls")
        row = View(span)
        identity = row.text("spanId|span_id") or row.text("context", "span_id")
        events = [View(object_of(each)) for each in row.items("events")]
        for event in events:
            told.update({k: v for k, v in attributes_in(event.get("attributes")).items() if k not in told})
        streamed = [event for event in events if "First Token" in (event.text("name") or "")]
        first = streamed[0].get("timestamp|time|timeUnixNano") if streamed else None
        facts = {
            **joined(
                ("span_id", identity),
                ("start_time", row.get("startTimeUnixNano|start_time|startTime|start_timestamp")),
                ("end_time", row.get("endTimeUnixNano|end_time|endTime|end_timestamp")),
                ("completion_start_time", first),
                ("app", resource.get("service.name")),
                ("status_code", "error" if row.text("status", "code") in ("2", "ERROR") else None),
                ("status_code", "error" if row.text("status_code") == "ERROR" else None),
            ),
            **facts_of(told),
        }
        if identity is not None:
            facts.setdefault("request_id", encode(identity))
        body = prompt_of(told) or _from_events(events)
        if body is None:
            if identity is not None and identity in self._spoken:
                _, _, turns = self._spoken.pop(identity)
                return read_foreign(
                    {"messages": encode(turns)}, response_of(told), facts, source, self.context
                )
            if identity is not None:
                self._waiting[identity] = facts, source
                return ()
            raise self._empty(facts)
        return read_foreign(body, response_of(told), facts, source, self.context)

    def _empty(self, facts: Fields) -> Unusable:
        usage = read_usage(object_of(facts.get("usage")) or {})
        prompt = usage.prompt if usage else None
        return without_prompt(
            self.context, prompt, usage.completion if usage else None, usage.cached if usage else None
        )

    def _event(self, entry: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(entry)
        told = attributes_in(entry.get("attributes"))
        name = row.text("eventName|event_name") or label(told.get("event.name")) or ""
        identity = row.text("spanId") or ""
        time = joined(("start_time", row.get("timeUnixNano|observedTimeUnixNano")))
        if (body := prompt_of(told)) is not None:
            facts = {**time, **facts_of(told)}
            if identity:
                facts.setdefault("request_id", encode(identity))
            if identity in self._waiting:
                facts = {**facts, **self._waiting.pop(identity)[0]}
            return read_foreign(body, response_of(told), facts, source, self.context)
        content = attributes_in(encode([{"key": "body", "value": entry.get("body")}]))
        held = {key.removeprefix("body."): value for key, value in content.items()}
        turns = self._spoken.setdefault(identity, (source, time, []))[2]
        if name in _SPOKEN and identity:
            turns.append(encode({"role": _SPOKEN[name], **held}))
            return ()
        if name == "gen_ai.choice" and turns and identity in self._waiting:
            facts, _ = self._waiting.pop(identity)
            del self._spoken[identity]
            answer = {"role": "assistant", **{k.removeprefix("message."): v for k, v in held.items()}}
            return read_foreign({"messages": encode(turns)}, encode(answer), facts, source, self.context)
        return ()

    def finish(self) -> Iterable[Request | Skip]:
        for identity, (facts, source) in self._waiting.items():
            spoken = self._spoken.pop(identity, None)
            try:
                if spoken is None or not spoken[2]:
                    raise self._empty(facts)
                yield from read_foreign({"messages": encode(spoken[2])}, None, facts, source, self.context)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)
        for source, facts, turns in self._spoken.values():
            if turns:
                yield from read_foreign({"messages": encode(turns)}, None, facts, source, self.context)


def _from_events(events: list[View]) -> Fields | None:
    """The messages that a span keeps as its events."""
    turns = []
    for event in events:
        name = event.text("name") or ""
        if name in _SPOKEN:
            turns.append(encode({"role": _SPOKEN[name], **attributes_in(event.get("attributes"))}))
    return {"messages": encode(turns)} if turns else None
