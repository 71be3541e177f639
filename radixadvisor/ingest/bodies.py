"""From a located call to Requests: shared by every dialect whose records hold a chat or completion call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from radixadvisor.records import Output, Request, Skip, Source, Usage

from .intern import Interner
from .locate import Call, locate, refuse_other_kinds, said
from .names import Named
from .prompts import parameters_of, prompts_of, tools_of
from .raw import Fields, Raw, Unusable, is_empty, label, number, object_of
from .responses import Answer, failure, read_answer, read_usage, response_in
from .times import Clock, duration, guess_unit

__all__ = ["Context", "position_id", "read_call"]


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


class _Times(NamedTuple):
    """Seconds; arrival as epoch seconds."""

    arrival: float | None
    latency: float | None
    ttft: float | None


def position_id(source: Source) -> str:
    """The id of a request whose log gives none."""
    return f"{source.file}:{source.line}"


def _facts(record: Fields) -> Iterator[dict[str, Named]]:
    try:
        yield said(locate(record))
    except Unusable:
        return


def _times(found: Mapping[str, Named], answer: Answer, context: Context) -> _Times:
    """Arrival, latency and time to first token. Arrival is the start, else the end less the latency.

    A response's ``created`` is an end, also where a record merges request and response.
    """
    clock = context.clock
    created = answer.fields.get("created", answer.fields.get("created_at"))
    if created is not None and "start" in found and found["start"][0] is created:
        found = {name: value for name, value in found.items() if name != "start"}

    def stamp(name: str) -> float | None:
        return clock.read(*found[name]) if name in found else None

    def seconds(name: str, longest: float) -> float | None:
        if name not in found:
            return None
        raw, unit = found[name]
        return duration(raw, unit or context.unit(name, longest))

    start, end = stamp("start"), stamp("end")
    latency, ttft = seconds("latency", 300.0), seconds("ttft", 60.0)
    if start is None and end is None:
        end = clock.read(created)
    if latency is None and start is not None and end is not None and end >= start:
        latency = end - start
    arrival = start
    if arrival is None and end is not None:
        arrival = max(0.0, end - (latency or 0.0))
    first = stamp("first_token")
    if ttft is None and first is not None and arrival is not None and first >= arrival:
        ttft = first - arrival
    return _Times(arrival, latency, ttft)


def _usage(found: Mapping[str, Named], answer: Answer) -> Usage | None:
    for raw in (answer.fields.get("usage"), found["usage"][0] if "usage" in found else None):
        counts = object_of(raw)
        usage = read_usage(counts) if counts else None
        if usage is not None:
            return usage
    counted = {"prompt_tokens", "completion_tokens", "cached_tokens"} & found.keys()
    return read_usage({name: found[name][0] for name in counted}) if counted else None


def read_call(call: Call, source: Source, context: Context) -> list[Request | Skip]:
    """The requests of one record: one, or one for each prompt of a list.

    Raises:
        Unusable: the record yields no request.
    """
    interner = context.interner
    found = said(call)
    refuse_other_kinds(call, found)
    answer = _answer(call, context)
    failed = failure(found, answer.fields)
    if failed is not None:
        raise Unusable("failed request", failed)
    prompts = prompts_of(call.body, interner)
    parameters, namespace = parameters_of(call, interner)
    times = _times(found, answer, context)
    usage = _usage(found, answer)
    output = answer.output
    if output is None and usage is not None and usage.completion is not None:
        output = Output(length=usage.completion)

    def named(name: str) -> str | None:
        return label(found[name][0]) if name in found else None

    identity = named("id") or label(answer.fields.get("id")) or position_id(source)
    model = label(call.body.get("model")) or named("model") or label(answer.fields.get("model")) or ""
    tools = tools_of(call, interner)
    priority = number(found["priority"][0]) if "priority" in found else None
    several = len(prompts) > 1
    return [
        Request(
            id=f"{identity}#{index + 1}" if several else identity,
            source=source,
            model=model,
            messages=prompt.messages,
            tools=tools,
            text=prompt.text,
            tokens=prompt.tokens,
            output=None if several else output,
            usage=None if several else usage,
            arrival=times.arrival,
            latency=times.latency,
            ttft=times.ttft,
            session=named("session"),
            tenant=named("tenant"),
            user=named("user"),
            app=named("app"),
            replica=named("replica"),
            priority=int(priority) if priority is not None and abs(priority) < 2**31 else 0,
            namespace=namespace,
            parameters=parameters,
        )
        for index, prompt in enumerate(prompts)
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
    if raw is None:
        return Answer(None, {})
    try:
        return read_answer(raw, interner)
    except Unusable as fault:
        context.remarks[f"responses could not be read ({fault.reason}); their requests have no output"] += 1
        return Answer(None, {})
