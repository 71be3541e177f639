"""Which application a request belongs to: model, tools or none, roles at the head, and what its text shares
with others, wherever in the text that stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.units import units
from radixadvisor.records import Message, Request
from radixadvisor.trace import Trace

__all__ = ["Cluster", "cluster_requests", "cluster_texts", "head_of"]

HEAD_ROLES = ("system", "developer")
_SHORT_UNIT = 20
_PROBES = 8
_RECENT = 12
_NAME_CHARS = 48


@dataclass(frozen=True, slots=True)
class Cluster:
    """Requests of one application.

    ``requests`` are trace indices in order of arrival; ``head`` the number of leading system and developer
    messages; ``name`` the log's name of the application, else the first words of its text.
    """

    id: int
    requests: tuple[int, ...]
    name: str
    model: str
    has_tools: bool
    head: int


@dataclass(slots=True, eq=False)
class _Leader:
    """The first text of a cluster: its units, and the longest of them for a quick look."""

    number: int
    size: int
    probes: tuple[str, ...]
    probe_size: int

    def shown_in(self, text: str) -> bool:
        """Whether a text holds 80 % of the probes, by their letters; a quick no for most texts."""
        spare = 0.2 * self.probe_size
        for probe in self.probes:
            if probe not in text:
                spare -= len(probe)
                if spare < 0:
                    return False
        return self.probe_size > 0


def head_of(request: Request) -> int:
    """The number of leading system and developer messages."""
    messages = request.messages or ()
    for index, message in enumerate(messages):
        if message.role not in HEAD_ROLES:
            return index
    return len(messages)


def cluster_requests(trace: Trace, share: float) -> tuple[Cluster, ...]:
    """The clusters of a trace in order of first arrival.

    Args:
        trace: requests with messages; those without are in no cluster.
        share: the part of the shorter text that two texts of one application share at least.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    members: list[list[int]] = []
    for index in trace.order:
        request = trace.requests[index]
        if not request.messages:
            continue
        head = head_of(request)
        key = (trace.pool_of[index], request.model, request.app, request.tools is not None, head)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(share)
        texts = request.messages[:head] or _first_turn(request.messages)
        number = group.number(texts, members)
        members[number].append(index)
    return tuple(_cluster(trace, number, requests) for number, requests in enumerate(members))


def cluster_texts(texts: Iterable[tuple[Hashable, str]], share: float) -> list[int]:
    """The cluster of each text, numbered as they come.

    Args:
        texts: each with what texts of one cluster agree in.
        share: the part of the shorter text that two texts of one cluster share at least.
    """
    groups: dict[Hashable, _Group] = {}
    known: dict[str, tuple[Message, ...]] = {}
    members: list[list[int]] = []
    found = []
    for key, text in texts:
        if key not in groups:
            groups[key] = _Group(share)
        found.append(groups[key].number(known.setdefault(text, (Message("user", text),)), members))
    return found


def _first_turn(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(messages[:1])


class _Group:
    """Texts of requests that agree in model, tools and roles, sorted into clusters as they come."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._known: dict[tuple[Message, ...], int] = {}
        self._index: dict[str, list[_Leader]] = {}
        self._recent: list[_Leader] = []

    def number(self, texts: tuple[Message, ...], members: list[list[int]]) -> int:
        """The cluster of a head; a new one is appended to ``members``."""
        number = self._known.get(texts)
        if number is None:
            leader = self._find("\n".join([message.text for message in texts]), len(members))
            number = self._known[texts] = leader.number
            if number == len(members):
                members.append([])
        return number

    def _find(self, text: str, new: int) -> _Leader:
        for leader in self._recent:
            if leader.shown_in(text):
                return self._used(leader)
        # Line ends are no part of what texts share: CRLF on one machine makes no other application.
        parts = {part for unit in units(text) if len(part := unit.strip()) >= _SHORT_UNIT}
        shared: Counter[_Leader] = Counter()
        for part in parts:
            for leader in self._index.get(part, ()):
                shared[leader] += len(part)
        size = sum(map(len, parts))
        if shared:
            best, common = max(shared.items(), key=lambda item: (item[1], -item[0].number))
            if common >= self._share * min(size, best.size):
                return self._used(best)
        probes = tuple(sorted(parts, key=lambda part: (-len(part), part))[:_PROBES])
        leader = _Leader(new, size, probes, sum(map(len, probes)))
        for part in parts:
            self._index.setdefault(part, []).append(leader)
        return leader

    def _used(self, leader: _Leader) -> _Leader:
        """Keep the leaders that others joined at hand, the latest first."""
        if leader in self._recent:
            self._recent.remove(leader)
        self._recent.insert(0, leader)
        del self._recent[_RECENT:]
        return leader


def _cluster(trace: Trace, number: int, requests: list[int]) -> Cluster:
    first = trace.requests[requests[0]]
    text = (first.messages or (Message("user", ""),))[0].text
    name = first.app or " ".join(text.split())[:_NAME_CHARS]
    return Cluster(number, tuple(requests), name, first.model, first.tools is not None, head_of(first))
