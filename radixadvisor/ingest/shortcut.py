"""A shorter way through records whose keys were met before.

Nearly all lines of a log carry the same few keys. What the general way (``bodies.read_call``) concludes from
the presence of keys is worked out once, as a plan; a line is then taken apart in a single scan. What values
mean is read by the same functions on both ways. A record that no plan covers, or that is in any way faulty,
is left to the general way, so this module decides how fast a log is read and nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from radixadvisor.records import Request, Source

from .bodies import Context, Parts, answer_of, refuse_failed, requests_of
from .locate import Call, add_metadata, refuse_other_endpoints
from .names import Named, shape
from .prompts import Prompt, parameters_of
from .raw import Fields, Raw, Unusable, first_byte, is_empty, is_null, label, object_of
from .responses import Answer

__all__ = ["Shortcut"]

_MOST_KEYS = 64
_MOST_PLANS = 32
_ARRAY = ord("[")
_NO_ANSWER = Answer(None, {})


class _Plan(NamedTuple):
    """How to read records that hold ``messages`` and any of some other keys, from ``decoder``'s lines.

    The other members name attributes of a line; an attribute is None where its key is missing. ``fields`` is
    as in ``Shape``, ``switches`` pairs a key that sets a parameter or a namespace with its attribute.
    """

    decoder: msgspec.json.Decoder[Any]
    fields: tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...]
    metadata: str | None
    response: str | None
    switches: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]
    system: str | None
    model: str | None


def _plan(keys: tuple[str, ...]) -> _Plan | None:
    """The plan for records with any of these keys; None where their order or their number would matter."""
    known = shape(dict.fromkeys(keys, Raw()))
    ranked_by_order = known.containers, known.responses, known.namespaces
    if known.extras or "choices" in keys or any(len(some) > 1 for some in ranked_by_order):
        return None
    attributes = {key: f"f{number}" for number, key in enumerate(keys) if key != "messages"}
    try:
        line = msgspec.defstruct(
            "Line",
            [("messages", list[Raw]), *((name, Raw, None) for name in attributes.values())],
            rename={name: key for key, name in attributes.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
    except ValueError:  # a key with a quote, a backslash or a control character
        return None
    return _Plan(
        decoder=msgspec.json.Decoder(line),
        fields=tuple(
            (field, tuple((attributes[key], unit) for key, unit in ranked)) for field, ranked in known.fields
        ),
        metadata=next((attributes[key] for key in known.containers), None),
        response=next((attributes[key] for key in known.responses), None),
        switches=tuple((key, attributes[key]) for key in (*known.parameters, *known.namespaces)),
        tools=tuple(attributes[key] for key in ("tools", "functions") if key in attributes),
        system=attributes.get("system"),
        model=attributes.get("model"),
    )


class Shortcut:
    """Reads the records of one log that hold messages in the open, once it has learned their keys."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._keys: dict[str, None] = {}
        self._plans = 0
        self._plan: _Plan | None = None
        self._none = parameters_of(Call({}), context.interner)

    def learn(self, record: Fields) -> None:
        """Cover the keys of a record from now on, as far as a plan can."""
        if record.keys() <= self._keys.keys() or self._plans == _MOST_PLANS:
            return
        if first_byte(record.get("messages", Raw())) == _ARRAY and len(record) <= _MOST_KEYS:
            keys = self._keys | dict.fromkeys(record)
            plan = _plan(tuple(keys)) if len(keys) <= _MOST_KEYS else None
            self._plans += 1
            if plan is not None:
                self._keys, self._plan = keys, plan

    def read(self, data: bytes, source: Source) -> list[Request] | None:
        """The request of a record; None where the general way must be taken.

        Raises:
            Unusable: the call failed.
        """
        plan = self._plan
        if plan is None:
            return None
        try:
            line = plan.decoder.decode(data)
            found = _said(plan, line)
            parts = self._parts(plan, line)
        except (msgspec.DecodeError, Unusable, RecursionError):
            return None
        if parts is None:
            return None
        # From here on things are counted: there is no way back.
        response = None if plan.response is None else getattr(line, plan.response)
        answer = _NO_ANSWER if response is None or is_null(response) else answer_of(response, self._context)
        refuse_failed(found, answer)
        return requests_of(parts, found, answer, source, self._context)

    def _parts(self, plan: _Plan, line: Any) -> Parts | None:
        interner = self._context.interner
        messages = interner.messages(line.messages)
        if not messages:
            return None
        if plan.system is not None and (raw := getattr(line, plan.system)) is not None:
            system = interner.system(raw)
            messages = messages if system is None else (system, *messages)
        tools = None
        for name in plan.tools:
            if tools is None and (raw := getattr(line, name)) is not None:
                tools = interner.tools(raw)
        parameters, namespace = self._none
        if plan.switches:
            switched = {key: raw for key, name in plan.switches if (raw := getattr(line, name)) is not None}
            parameters, namespace = parameters_of(Call(switched), interner)
        model = None if plan.model is None else getattr(line, plan.model)
        return Parts([Prompt(messages)], tools, parameters, namespace, model)


def _said(plan: _Plan, line: Any) -> dict[str, Named]:
    """As ``locate.said``."""
    found: dict[str, Named] = {}
    for field, ranked in plan.fields:
        for name, unit in ranked:
            raw = getattr(line, name)
            if not is_empty(raw):
                found[field] = raw, unit
                break
    if plan.metadata is not None:
        inside = object_of(getattr(line, plan.metadata))
        if inside is not None:
            add_metadata(found, inside)
    if "endpoint" in found:
        refuse_other_endpoints(label(found["endpoint"][0]) or "")
    return found
