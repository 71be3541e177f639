"""The varying slots of an application: their values over its requests, and with what they change."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.clusters import Cluster
from radixadvisor.diagnose.template import Gap, Template, by_labels, template_of
from radixadvisor.diagnose.values import kinds
from radixadvisor.diagnose.zones import FIRST, LAST, find_block, head_zone, is_head, zone_index
from radixadvisor.records import Request

__all__ = ["Slot", "Zone", "zones_of"]

_LOOK = 60
_ORDERED = 0.8


@dataclass(frozen=True, slots=True)
class Zone:
    """One message of an application's requests: its template, and where each request has it.

    ``found`` pairs trace indices with message indices, in order of arrival; ``slots`` are those that vary.
    """

    cluster: Cluster
    name: str
    template: Template
    found: tuple[tuple[int, int], ...]
    slots: tuple[Slot, ...]

    @property
    def permuted(self) -> bool:
        """Whether its anchors come in several orders."""
        return self.template.ordered < _ORDERED


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that varies.

    ``requests`` hold a value that is not blank, in order of arrival, ``values`` it; ``starts`` is its place
    in the message's text, ``messages`` the message's index. ``kinds``: see ``values.kinds``. ``turns`` counts
    pairs of consecutive requests of a conversation, ``changes`` those with another value, ``conversations``
    the conversations. ``keyed`` is True where the value follows the user or tenant alone, ``daily`` where it
    follows the day alone. ``shared_rest`` is the part of the text beside the slot that is anchors: little of
    it means that prompts differ altogether, not in a value.
    """

    cluster: Cluster
    zone: str
    gap: Gap
    requests: tuple[int, ...]
    messages: tuple[int, ...]
    values: tuple[str, ...]
    starts: tuple[int, ...]
    distinct: int
    kinds: frozenset[str]
    turns: int
    changes: int
    conversations: int
    keyed: bool
    daily: bool
    shared_rest: float

    @property
    def within_conversation(self) -> bool:
        """Whether the value changes from turn to turn of a conversation."""
        return self.changes > 0.1 * self.turns

    @property
    def lines(self) -> int:
        """Lines of the longest of the first values."""
        return max([value.strip().count("\n") for value in self.values[:_LOOK]]) + 1

    @property
    def size(self) -> float:
        """Mean characters of a value."""
        return _mean(self.values)


def zones_of(
    cluster: Cluster,
    request: Callable[[int], Request],
    conversation: Callable[[int], Hashable],
    day: Callable[[int], int | None],
) -> tuple[Zone, ...]:
    """The zones of an application that have a template.

    The last user turn is one, and without a system message the first turn too.
    """
    names = [head_zone(index) for index in range(cluster.head)]
    if not cluster.head and any(len(request(index).messages or ()) > 1 for index in cluster.requests):
        names.append(FIRST)
    zones = []
    for name in [*names, LAST]:
        found = [
            (index, at) for index in cluster.requests if (at := zone_index(request(index), name)) is not None
        ]
        by_text: dict[str, list[tuple[int, int]]] = {}
        for index, at in found:
            by_text.setdefault(_text(request(index), at), []).append((index, at))
        for texts in [list(by_text)] if is_head(name) else by_labels(list(by_text)):
            template = template_of(texts)
            if template is None or not (template.anchors or is_head(name)):
                continue
            here = (
                found if len(texts) == len(by_text) else _in_order(found, [by_text[text] for text in texts])
            )
            slots = [
                _slot(cluster, name, gap, template, here, request, conversation, day) for gap in template.gaps
            ]
            kept = tuple(slot for slot in slots if slot is not None)
            zones.append(Zone(cluster, name, template, tuple(here), kept))
    return tuple(zones)


def _in_order(
    order: Sequence[tuple[int, int]], groups: Sequence[Sequence[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """The members of some groups in a given order."""
    members = {pair for group in groups for pair in group}
    return [pair for pair in order if pair in members]


def _text(request: Request, index: int) -> str:
    assert request.messages is not None
    return request.messages[index].text


def _slot(
    cluster: Cluster,
    zone: str,
    gap: Gap,
    template: Template,
    found: Sequence[tuple[int, int]],
    request: Callable[[int], Request],
    conversation: Callable[[int], Hashable],
    day: Callable[[int], int | None],
) -> Slot | None:
    requests, messages, values, starts = [], [], [], []
    for index, at in found:
        text = _text(request(index), at)
        span = find_block(text, gap.before, gap.after)
        if span is not None and text[span[0] : span[1]].strip():
            requests.append(index)
            messages.append(at)
            values.append(text[span[0] : span[1]])
            starts.append(span[0])
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        return None
    looked = distinct[:: max(len(distinct) // _LOOK, 1)]
    turns = changes = 0
    last: dict[Hashable, str] = {}
    for index, value in zip(requests, values, strict=True):
        key = conversation(index)
        if key in last:
            turns += 1
            changes += last[key] != value
        last[key] = value
    return Slot(
        cluster=cluster,
        zone=zone,
        gap=gap,
        requests=tuple(requests),
        messages=tuple(messages),
        values=tuple(values),
        starts=tuple(starts),
        distinct=len(distinct),
        kinds=kinds(looked),
        turns=turns,
        changes=changes,
        conversations=len(last),
        keyed=_follows(values, [request(index).user or request(index).tenant for index in requests]),
        daily=_follows(values, [day(index) for index in requests]),
        shared_rest=sum(map(len, template.anchors)) / max(_mean(template.sample) - _mean(values), 1.0),
    )


def _mean(texts: Sequence[str]) -> float:
    return sum(map(len, texts)) / len(texts)


def _follows(values: Sequence[str], keys: Sequence[Hashable]) -> bool:
    """Whether equal keys mean equal values (but for one in twenty), with several keys, one of them
    repeated.
    """
    if None in keys or not 1 < len(set(keys)) < len(keys):
        return False
    last: dict[Hashable, str] = {}
    repeats = breaks = 0
    for key, value in zip(keys, values, strict=True):
        if key in last:
            repeats += 1
            breaks += last[key] != value
        last[key] = value
    return breaks <= repeats // 20
