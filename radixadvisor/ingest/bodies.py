"""From a located call to Requests: shared by every dialect whose records hold a chat or completion call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from radixadvisor.records import Output, Request, Skip, Source, ToolSet, Usage

from .drafts import RequestDraft, finished
from .intern import Interner
from .locate import Call, locate, refuse_other_kinds, said
from .names import Named
from .prompts import Prompt, parameters_of, prompts_of, tools_of
from .raw import Fields, Raw, Unusable, is_empty, label, number, object_of
from .responses import Answer, failure, read_answer, read_usage, response_in
from .times import Clock, duration, guess_unit

__all__ = ["Context", "Parts", "answer_of", "position_id", "read_call", "refuse_failed", "requests_of"]

_Times = tuple[float | None, float | None, float | None]

_LABELS = frozenset(("id", "session", "tenant", "user", "app", "replica"))
_OTHER_TIMES = frozenset(("end", "latency", "ttft", "first_token"))
_COUNTS = frozenset(("prompt_tokens", "completion_tokens", "cached_tokens"))


@dataclass(slots=True)
class Context:
    """What the readers of one log share.

    ``sample`` holds the first records: facts that no single record tells (the unit of a duration) are decided
    on them. ``remarks`` counts what the reader of a report must know beside the skips.
    """

    interner: Interner = field(default_factory=Interner)
    clock: Clock = field(default_factory=Clock)
    remarks: Counter[str] = field(default_factory=Counter)
    sample: Sequence[Fields] = ()
    units: dict[str, str] = field(default_factory=dict)

    def unit(self, kind: str, longest: float) -> str:
        """The unit of durations under keys that name none: decided once for a log, from its sample."""
        if kind not in self.units:
            named = (found for record in self.sample for found in _facts(record) if kind in found)
            bare = [found[kind][0] for found in named if found[kind][1] is None]
            self.units[kind] = guess_unit(bare, longest)
        return self.units[kind]


class Parts(NamedTuple):
    """What goes into a model, wherever a record keeps it; ``model`` is the body's own naming of it."""

    prompts: list[Prompt]
    tools: ToolSet | None
    parameters: Mapping[str, str]
    namespace: tuple[tuple[str, str], ...]
    model: Raw | None


def position_id(source: Source) -> str:
    """The id of a request whose log gives none."""
    return f"{source.file}:{source.line}"


def _facts(record: Fields) -> Iterator[dict[str, Named]]:
    try:
        yield said(locate(record))
    except Unusable:
        return


def _times(found: Mapping[str, Named], answer: Answer, context: Context) -> _Times:
    """Arrival as epoch seconds, latency and time to first token in seconds.

    Arrival is the start, else the end less the latency. A response's ``created`` is an end, also where a
    record merges request and response.
    """
    clock = context.clock
    created = answer.fields.get("created", answer.fields.get("created_at"))
    if created is not None and "start" in found and found["start"][0] is created:
        found = {name: value for name, value in found.items() if name != "start"}
    start = _stamp(found, "start", clock)
    if start is not None and _OTHER_TIMES.isdisjoint(found):
        return start, None, None
    end = _stamp(found, "end", clock)
    latency, ttft = _seconds(found, "latency", 300.0, context), _seconds(found, "ttft", 60.0, context)
    if start is None and end is None:
        end = clock.read(created)
    if latency is None and start is not None and end is not None and end >= start:
        latency = end - start
    arrival = start
    if arrival is None and end is not None:
        arrival = max(0.0, end - (latency or 0.0))
    first = _stamp(found, "first_token", clock)
    if ttft is None and first is not None and arrival is not None and first >= arrival:
        ttft = first - arrival
    return arrival, latency, ttft


def _stamp(found: Mapping[str, Named], name: str, clock: Clock) -> float | None:
    return clock.read(*found[name]) if name in found else None


def _seconds(found: Mapping[str, Named], name: str, longest: float, context: Context) -> float | None:
    if name not in found:
        return None
    raw, unit = found[name]
    return duration(raw, unit or context.unit(name, longest))


def _usage(found: Mapping[str, Named], answer: Answer) -> Usage | None:
    for raw in (answer.fields.get("usage"), found["usage"][0] if "usage" in found else None):
        if raw is not None and (counts := object_of(raw)) and (usage := read_usage(counts)) is not None:
            return usage
    if _COUNTS.isdisjoint(found):
        return None
    return read_usage({name: found[name][0] for name in _COUNTS & found.keys()})


def read_call(call: Call, source: Source, context: Context) -> list[Request | Skip]:
    """The requests of one record: one, or one for each prompt of a list.

    Raises:
        Unusable: the record yields no request.
    """
    interner = context.interner
    found = said(call)
    refuse_other_kinds(call, found)
    answer = _answer(call, context)
    refuse_failed(found, answer)
    prompts = prompts_of(call.body, interner)
    parameters, namespace = parameters_of(call, interner)
    tools = tools_of(call, interner)
    parts = Parts(prompts, tools, parameters, namespace, call.body.get("model"))
    return list(requests_of(parts, found, answer, source, context))


def refuse_failed(found: dict[str, Named], answer: Answer) -> None:
    """Raises Unusable for a call that failed."""
    failed = failure(found, answer.fields)
    if failed is not None:
        raise Unusable("failed request", failed)


def requests_of(
    parts: Parts, found: Mapping[str, Named], answer: Answer, source: Source, context: Context
) -> list[Request]:
    """A record's requests from what was found in it: ``found`` under its usual names, ``answer`` in its
    response.
    """
    times = _times(found, answer, context)
    usage = _usage(found, answer)
    output = answer.output
    if output is None and usage is not None and usage.completion is not None:
        output = Output(length=usage.completion)
    named = {name: label(raw) for name, (raw, _) in found.items() if name in _LABELS}.get
    identity = named("id") or label(answer.fields.get("id")) or position_id(source)
    model = label(parts.model) or label(found["model"][0] if "model" in found else None)
    priority = number(found["priority"][0]) if "priority" in found else None
    draft: Any = RequestDraft()
    draft.id = identity
    draft.source = source
    draft.model = model or label(answer.fields.get("model")) or ""
    draft.messages, draft.text, draft.tokens = parts.prompts[0]
    draft.tools = parts.tools
    draft.blocks = None
    draft.output = output
    draft.usage = usage
    draft.arrival, draft.latency, draft.ttft = times
    draft.session = named("session")
    draft.tenant = named("tenant")
    draft.user = named("user")
    draft.app = named("app")
    draft.replica = named("replica")
    draft.priority = int(priority) if priority is not None and abs(priority) < 2**31 else 0
    draft.namespace = parts.namespace
    draft.parameters = parts.parameters
    request = finished(draft)
    if len(parts.prompts) == 1:
        return [request]
    alone = replace(request, output=None, usage=None)
    return [
        replace(alone, id=f"{identity}#{number}", **prompt._asdict())
        for number, prompt in enumerate(parts.prompts, 1)
    ]


def _answer(call: Call, context: Context) -> Answer:
    """The response of a call, wherever it stands; an unreadable one costs the output, not the request."""
    interner = context.interner
    raw = call.response
    for fields in (*call.around, call.body):
        if raw is None:
            raw = response_in(fields)
        if raw is None and not is_empty(fields.get("choices")):
            choices = Raw(b'{"choices":' + bytes(fields["choices"]) + b"}")
            merged = read_answer(choices, interner)
            return Answer(merged.output, fields)
    return Answer(None, {}) if raw is None else answer_of(raw, context)


def answer_of(raw: Raw, context: Context) -> Answer:
    """A response; one that cannot be read is remarked upon and counts as none."""
    try:
        return read_answer(raw, context.interner)
    except Unusable as fault:
        context.remarks[f"responses could not be read ({fault.reason}); their requests have no output"] += 1
        return Answer(None, {})
