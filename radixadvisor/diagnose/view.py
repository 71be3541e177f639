"""The trace as detectors see it: applications, sessions, and where each request left what was cached.

Everything is computed once, on first use, and shared by all detectors. Requests are named by their index in
``trace.requests``; orders are orders of arrival.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from radixadvisor.diagnose.clusters import Cluster, cluster_requests
from radixadvisor.diagnose.sections import DEFINITIONS, sections_of
from radixadvisor.diagnose.slots import Zone, zones_of
from radixadvisor.diagnose.zones import LAST
from radixadvisor.measure.segments import Prompt, SegmentMatch, match_segments
from radixadvisor.records import Request
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Location, Trace, locate
from radixadvisor.trace.build import TOKEN_BYTES

__all__ = ["Divergence", "LogView"]

_SAME_APPLICATION = 0.3
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a request leaves what was cached: matched tokens, the earlier request that has them (None if
    there is none), and the place of the first token that differs.
    """

    tokens: int
    partner: int | None
    location: Location


class LogView:
    """One log, seen for diagnosis.

    Attributes:
        trace: the tokenized log.
        order: trace indices in order of arrival.
        clusters: the applications; ``clusters[c].id == c``.
        cluster_of: per trace index the number of its cluster; -1 for a request without messages.
        previous, following: per trace index the neighbours in its session; None at the ends.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.order = trace.order
        self.clusters: tuple[Cluster, ...] = cluster_requests(trace, _SAME_APPLICATION)
        self.cluster_of = [-1] * len(trace.requests)
        for cluster in self.clusters:
            for index in cluster.requests:
                self.cluster_of[index] = cluster.id
        self.previous: list[int | None] = [None] * len(trace.requests)
        self.following: list[int | None] = [None] * len(trace.requests)
        last: dict[int, int] = {}
        for index in trace.order:
            before = last.get(trace.sessions[index])
            if before is not None:
                self.previous[index], self.following[before] = before, index
            last[trace.sessions[index]] = index

    @property
    def has_text(self) -> bool:
        """Whether any request shows its messages."""
        return bool(self.clusters)

    def request(self, index: int) -> Request:
        """A request as read."""
        return self.trace.requests[index]

    @cached_property
    def zones(self) -> tuple[Zone, ...]:
        """The messages that applications write anew, with their templates and varying slots.

        Not those of a question with definitions of tools behind it: what varies in these are the tools.
        """
        return tuple(
            zone
            for cluster in self.clusters
            if len(cluster.requests) > 2
            for zone in zones_of(cluster, self.request, self.conversation, self.day)
            if not _asks_before_tools(zone)
        )

    def conversation(self, index: int) -> Hashable:
        """What requests of one conversation share: the session, else the first user turn."""
        request = self.trace.requests[index]
        if request.session is not None:
            return request.session
        for message in request.messages or ():
            if message.role == "user":
                return message
        return index

    @cached_property
    def sessions(self) -> dict[int, tuple[int, ...]]:
        """The requests of each session, by the trace's session number."""
        found: dict[int, list[int]] = {}
        for index in self.order:
            found.setdefault(self.trace.sessions[index], []).append(index)
        return {session: tuple(members) for session, members in found.items()}

    def day(self, index: int) -> int | None:
        """The UTC day of a request's arrival; None without a time."""
        arrival = self.trace.requests[index].arrival
        return None if arrival is None else int(arrival // _DAY)

    @cached_property
    def matches(self) -> list[SegmentMatch]:
        """Per trace index the tokens that an unlimited cache (page 1, outputs cached) holds when it comes,
        and the trace index of who left them (-1 for nobody).
        """
        trace = self.trace
        found = match_segments([self._prompt(index) for index in trace.order])
        by_index = [SegmentMatch(0, -1)] * len(found)
        for index, (tokens, partner) in zip(trace.order, found, strict=True):
            by_index[index] = SegmentMatch(tokens, trace.order[partner] if partner >= 0 else -1)
        return by_index

    def divergence(self, index: int) -> Divergence:
        """Where a request leaves what was cached."""
        tokens, partner = self.matches[index]
        return Divergence(tokens, partner if partner >= 0 else None, locate(self.trace, index, tokens))

    def _prompt(self, index: int) -> Prompt:
        trace = self.trace
        pool = trace.pools[trace.pool_of[index]]
        tokens = pool.tokens if isinstance(pool, SegmentPool) else ()
        output = trace.outputs[index][:-TOKEN_BYTES]
        return Prompt(trace.segments[index], tokens, output, trace.namespace(index))


def _asks_before_tools(zone: Zone) -> bool:
    told = [[section.name for section in sections_of(text)] for text in zone.template.sample]
    return zone.name == LAST and sum(names[1:] == [DEFINITIONS] for names in told) > len(told) // 2
