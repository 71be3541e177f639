"""RA501: a parameter of the prompt or the cache key that changes while the messages only grow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.records import EditSpec, Message, Request
from radixadvisor.trace import Trace

__all__ = ["continued", "parameter_change", "parameters_that_differ", "value_of"]

_IRRELEVANT = frozenset(
    {
        *("logprobs", "top_logprobs", "prompt_logprobs", "echo", "logprob_start_len", "suffix"),
        *("prompt_cache_key", "prompt_cache_retention", "return_hidden_states", "include_reasoning"),
        *("separate_reasoning", "truncation", "truncate_prompt_tokens"),
    }
)
_VALUE = 80


def continued(trace: Trace) -> dict[int, int]:
    """For each request whose messages begin with all those of an earlier one, and go on, the latest such
    request with the most messages: trace index to trace index.
    """
    numbers: dict[tuple[int, Hashable], int] = {}
    ended: dict[int, int] = {}
    said: dict[int, Hashable] = {}
    found = {}
    for index in trace.order:
        node, before = 0, None
        messages = trace.requests[index].messages or ()
        for message in messages:
            before = ended.get(node, before)
            words = said.get(id(message))
            if words is None:
                words = said[id(message)] = _words(message)
            node = numbers.setdefault((node, words), len(numbers) + 1)
        if before is not None:
            found[index] = before
        if messages:
            ended[node] = index
    return found


def _words(message: Message) -> Hashable:
    """What a message says, whether or not a cache breakpoint stands in it."""
    content = message.content
    if isinstance(content, tuple):
        content = tuple((part.kind, part.text) for part in content)  # type: ignore[misc]
    return message.role, content, message.tool_calls, message.tool_call_id


def parameter_change(facts: Facts) -> Iterator[Suspect]:
    """One suspect for each parameter that changes within conversations; what it costs is measured by holding
    it at the value that a conversation began with.
    """
    requests = facts.trace.requests
    names = {name for request in requests for name in request.parameters} - _IRRELEVANT
    varying = [
        name for name in sorted(names) if len({request.parameters.get(name) for request in requests}) > 1
    ]
    if len({request.model for request in requests}) > 1:
        varying.append("model")
    if not varying:
        return
    before = continued(facts.trace)
    for name in varying:
        changed = [
            index
            for index in facts.trace.order
            if index in before and value_of(requests[index], name) != value_of(requests[before[index]], name)
        ]
        if not changed:
            continue
        spec = EditSpec("hold_parameter", "review", (), (("name", name),))
        now, held = facts.world.serve(facts.trace), facts.world.serve(facts.trace, (spec,))
        first = changed[0]
        yield Suspect(
            rule="RA501",
            profile=facts.world.name,
            title=f"{name} changes within conversations that only grow",
            place=facts.place(facts.trace.order.index(first), name),
            before=_shown(requests[before[first]], name),
            after=_shown(requests[first], name),
            requests=tuple(sorted(changed)),
            lost_tokens=int(now.computed.sum() - held.computed.sum()),
            change=spec,
        )


def parameters_that_differ(trace: Trace, first: int, second: int) -> list[str]:
    """Names of parameters, the model among them, that may enter the prompt or the key and differ."""
    one, other = trace.requests[first], trace.requests[second]
    names = sorted((set(one.parameters) | set(other.parameters)) - _IRRELEVANT)
    return [name for name in ("model", *names) if value_of(one, name) != value_of(other, name)]


def value_of(request: Request, name: str) -> str | None:
    """A parameter as raw JSON, or the model's name."""
    return request.model if name == "model" else request.parameters.get(name)


def _shown(request: Request, name: str) -> str:
    value = value_of(request, name)
    return "not set" if value is None else value[:_VALUE]
