"""The applications of a log under names that the next log of the same traffic gives them too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from radixadvisor.diagnose.clusters import Cluster, cluster_requests, cluster_texts
from radixadvisor.diagnose.units import units
from radixadvisor.records import Request
from radixadvisor.results import ApplicationRow, Finding
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Application", "applications_of", "named_findings", "rows_of", "text_of"]

_SHARE = 0.3
_STATIC = 0.9
_SAMPLE = 120
_TELLING = 20


@dataclass(frozen=True, slots=True)
class Application:
    """Requests of one make.

    ``id`` follows from the log's name of the application, else from the longest line that nearly all its
    requests hold at their head; ``name`` is the log's, empty without one; ``requests`` are trace indices in
    order of arrival; ``head`` the number of leading system and developer messages.
    """

    id: str
    name: str
    model: str
    tools: tuple[str, ...]
    head: int
    requests: tuple[int, ...]


def applications_of(trace: Trace) -> tuple[Application, ...]:
    """The applications of a trace in order of first arrival; hash traces have none."""
    found = [_application(trace, cluster) for cluster in cluster_requests(trace, _SHARE)]
    found += _without_messages(trace)
    place = {index: position for position, index in enumerate(trace.order)}
    return tuple(sorted(found, key=lambda item: place[item.requests[0]]))


def rows_of(trace: Trace, applications: Iterable[Application], served: Counts) -> tuple[ApplicationRow, ...]:
    """Applications with the sums of their requests, those with most prompt tokens first.

    Args:
        trace: the log.
        applications: of that log; those of one id are one row.
        served: tokens served by the headline profile, per request in order of arrival.
    """
    by_index = dict(zip(trace.order, served.tolist(), strict=True))
    groups: dict[str, list[Application]] = {}
    for item in applications:
        groups.setdefault(item.id, []).append(item)
    rows = [_row(trace, members, by_index) for members in groups.values()]
    return tuple(sorted(rows, key=lambda row: (-row.prompt_tokens, row.id)))


def named_findings(
    trace: Trace, applications: Iterable[Application], findings: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Findings with the id of the application in which each shows."""
    known = {trace.requests[index].id: item.id for item in applications for index in item.requests}
    return tuple(replace(item, application=known.get(item.where.request_id, "")) for item in findings)


def text_of(trace: Trace, index: int) -> str:
    """The text of a request without messages: as logged, or decoded from its tokens."""
    request = trace.requests[index]
    if request.text is not None:
        return request.text
    pool = trace.pools[trace.pool_of[index]]
    return pool.tokenizer.decode(trace.prompt(index)) if isinstance(pool, SegmentPool) else ""


def _application(trace: Trace, cluster: Cluster) -> Application:
    first = trace.requests[cluster.requests[0]]
    heads: dict[Hashable, str] = {}
    for index in cluster.requests:
        messages = (trace.requests[index].messages or ())[: max(cluster.head, 1)]
        if messages not in heads:
            heads[messages] = "\n".join([message.text for message in messages])
    return _named(trace, cluster.requests, first, cluster.head, list(heads.values()))


def _without_messages(trace: Trace) -> list[Application]:
    """Requests that show their prompt as text or as tokens, sorted by what they share."""
    members = [
        index
        for index in trace.order
        if not trace.requests[index].messages and trace.requests[index].blocks is None
    ]
    texts = [text_of(trace, index) for index in members]
    keys = [(trace.pool_of[i], trace.requests[i].model, trace.requests[i].app) for i in members]
    groups: dict[int, list[int]] = {}
    for position, number in enumerate(cluster_texts(zip(keys, texts, strict=True), _SHARE)):
        groups.setdefault(number, []).append(position)
    return [
        _named(
            trace,
            [members[position] for position in positions],
            trace.requests[members[positions[0]]],
            0,
            list(dict.fromkeys(texts[position] for position in positions)),
        )
        for positions in groups.values()
    ]


def _named(
    trace: Trace, requests: Sequence[int], first: Request, head: int, texts: Sequence[str]
) -> Application:
    from xxhash import xxh3_64_hexdigest

    name = first.app or ""
    tools = dict.fromkeys(
        tool.name
        for index in requests[:_SAMPLE]
        if (found := trace.requests[index].tools) is not None
        for tool in found.tools
    )
    told = f"name:{name}" if name else f"text:{_telling(texts)}"
    return Application(
        xxh3_64_hexdigest(told.encode(errors="replace")),
        name,
        first.model,
        tuple(sorted(tools)),
        head,
        tuple(requests),
    )


def _telling(texts: Sequence[str]) -> str:
    """The longest line that nearly all of some distinct texts hold; the first of those by letters."""
    step = max(len(texts) / _SAMPLE, 1.0)
    sample = [texts[int(number * step)] for number in range(min(len(texts), _SAMPLE))]
    seen: Counter[str] = Counter()
    for text in sample:
        seen.update({part for unit in units(text) if len(part := unit.strip()) >= _TELLING})
    static = [part for part, count in seen.items() if count >= _STATIC * len(sample)]
    return min(static or seen or {"": 0}, key=lambda part: (-len(part), part))


def _row(trace: Trace, members: Sequence[Application], served: dict[int, int]) -> ApplicationRow:
    requests = [index for item in members for index in item.requests]
    return ApplicationRow(
        id=members[0].id,
        name=members[0].name,
        models=tuple(sorted({item.model for item in members})),
        requests=len(requests),
        prompt_tokens=sum(trace.lengths[index] for index in requests),
        served_tokens=sum(served[index] for index in requests),
    )
