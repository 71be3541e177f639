"""Why one request matched as far as it did: with whom, and what stands on both sides of the divergence.

Texts are unmasked prompt text: reports mask and escape them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from radixadvisor.analysis.explain_cause import Cause, causes_of, text_is_innocent
from radixadvisor.analysis.measure import NOTHING_TOLD, Measured
from radixadvisor.errors import UsageError
from radixadvisor.measure.ledger import BUCKETS
from radixadvisor.simulate.setting import Setting
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace, locate
from radixadvisor.trace.build import TOKEN_BYTES

__all__ = ["Explanation", "Loss", "Match", "Side", "explain", "find_request", "worst"]

LEAD_CHARS = 24
TEXT_CHARS = 50
_WINDOW = 64
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a divergence: the place of the first differing token, and the text from there on.

    ``path`` is None for what the template or the model wrote; ``end`` is where the shown text ends.
    """

    request_id: str
    path: str | None
    start: int
    end: int
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """The latest of the earlier requests that share the longest prefix.

    ``tokens`` may reach into its generated reply (``in_reply``), ``covers_prompt`` if they hold its whole
    prompt. ``seconds_ago`` is None without timestamps.
    """

    request_id: str
    tokens: int
    prompt_tokens: int
    seconds_ago: float | None
    same_session: bool
    in_reply: bool

    @property
    def covers_prompt(self) -> bool:
        return self.tokens >= self.prompt_tokens


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything about one request.

    ``position`` counts from 1 in order of arrival. ``match`` is None where nothing came before it in its
    namespace; ``apart`` is a longer match that only the namespace forbids. ``shared`` is the end of the
    matched text, ``here`` and ``there`` what follows it; they are None where nothing differs or there is no
    text. ``served`` holds tokens by profile, ``buckets`` the ledger's row of this request. ``causes`` are
    what serving did, the costliest first; ``innocent``: they explain more than the text does.
    """

    request_id: str
    source: str
    session: str | None
    position: int
    requests: int
    prompt_tokens: int
    match: Match | None
    apart: Match | None
    shared: str
    here: Side | None
    there: Side | None
    headline: str
    served: dict[str, int]
    buckets: tuple[tuple[str, int], ...]
    reason: str
    causes: tuple[Cause, ...] = ()
    innocent: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """A request and the tokens of it that were seen before and yet not served, most of them by ``cause``."""

    request_id: str
    prompt_tokens: int
    served: int
    lost: int
    cause: str


def find_request(trace: Trace, name: str) -> int:
    """The index of a request by its id; of the first one where several share it.

    Raises:
        UsageError: no request has this id; the sentence names near ones.
    """
    ids = [request.id for request in trace.requests]
    if name in ids:
        return ids.index(name)
    near = difflib.get_close_matches(name, dict.fromkeys(ids), n=_NEAR, cutoff=0.5)
    hint = f"Near: {', '.join(near)}" if near else f"The first is {ids[0]}"
    raise UsageError(f"No request {name!r} in the log. {hint}. --worst 20 lists the ids that lose most.")


def explain(trace: Trace, found: Measured, index: int, setting: Setting = NOTHING_TOLD) -> Explanation:
    """Explain the request at ``index``; ``found`` is the measurement of the same trace under ``setting``."""
    request = trace.requests[index]
    position = trace.order.index(index)
    match, other = _best(trace, position, trace.namespace(index))
    apart, _ = _best(trace, position, None)
    shared, here, there = "", None, None
    if match is not None and other is not None and trace.unit == 1:
        shared, here, there = _sides(trace, index, other, match.tokens // trace.unit)
    longer = apart if apart is not None and apart.tokens > (match.tokens if match else 0) else None
    causes = causes_of(trace, found, index, match, longer, setting)
    row = {name: column for name, column in found.ledger.columns.items() if column is not None}
    return Explanation(
        request_id=request.id,
        source=f"{request.source.file}:{request.source.line}",
        session=request.session,
        position=position + 1,
        requests=len(trace.requests),
        prompt_tokens=trace.lengths[index],
        match=match,
        apart=longer,
        shared=shared,
        here=here,
        there=there,
        headline=found.headline,
        served={name: int(column[position]) for name, column in found.profiles.items()},
        buckets=tuple((name, int(row[name][position])) for name in BUCKETS if name in row),
        reason=_reason(trace, index, match, here, there),
        causes=causes,
        innocent=text_is_innocent(found, position, causes),
    )


def worst(trace: Trace, found: Measured, count: int) -> tuple[Loss, ...]:
    """The requests that lose most, at most ``count``; those that lose nothing are left out."""
    columns = {
        name: column
        for name, column in found.ledger.columns.items()
        if column is not None and name not in ("served", "first_seen")
    }
    losses = []
    for position, index in enumerate(trace.order):
        parts = {name: int(column[position]) for name, column in columns.items()}
        lost = sum(parts.values())
        if lost:
            served = int(found.profiles[found.headline][position])
            cause = max(parts, key=lambda name: parts[name])
            losses.append(Loss(trace.requests[index].id, trace.lengths[index], served, lost, cause))
    losses.sort(key=lambda loss: -loss.lost)
    return tuple(losses[:count])


def _best(trace: Trace, position: int, namespace: str | None) -> tuple[Match | None, int | None]:
    """The earlier request with the longest common prefix, the latest of several; None: any namespace of the
    same vocabulary.
    """
    index = trace.order[position]
    prompt = trace.prompt(index)
    best, partner = 0, None
    for other in trace.order[:position]:
        if trace.pool_of[other] != trace.pool_of[index]:
            continue
        if namespace is not None and trace.namespace(other) != namespace:
            continue
        sequence = trace.prompt(other) + trace.outputs[other][:-TOKEN_BYTES]
        if sequence.startswith(prompt[:best]):
            best, partner = common_prefix(prompt, sequence), other
    if partner is None:
        return None, None
    request, earlier = trace.requests[index], trace.requests[partner]
    ago = request.arrival - earlier.arrival if trace.timed and request.arrival and earlier.arrival else None
    tokens = best // TOKEN_BYTES
    return Match(
        request_id=earlier.id,
        tokens=min(tokens * trace.unit, trace.lengths[index]),
        prompt_tokens=trace.lengths[partner],
        seconds_ago=ago,
        same_session=trace.sessions[index] == trace.sessions[partner],
        in_reply=best > len(trace.prompt(partner)),
    ), partner


def common_prefix(first: bytes, second: bytes) -> int:
    """Bytes that two packed sequences share at their beginning, in whole tokens."""
    low, high = 0, min(len(first), len(second)) // TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        if (
            first[low * TOKEN_BYTES : middle * TOKEN_BYTES]
            == second[low * TOKEN_BYTES : middle * TOKEN_BYTES]
        ):
            low = middle
        else:
            high = middle - 1
    return low * TOKEN_BYTES


def _sides(trace: Trace, index: int, other: int, token: int) -> tuple[str, Side | None, Side | None]:
    """The end of what two requests share, and each one's own text behind it."""
    pool = trace.pools[trace.pool_of[index]]
    if not isinstance(pool, SegmentPool) or token >= trace.lengths[index]:
        return "", None, None
    start = token * TOKEN_BYTES
    prompt = trace.prompt(index)
    lead = pool.tokenizer.decode(prompt[max(start - _WINDOW * TOKEN_BYTES, 0) : start])[-LEAD_CHARS:]
    return lead, _side(trace, pool, index, token), _side(trace, pool, other, token)


def _side(trace: Trace, pool: SegmentPool, index: int, token: int) -> Side:
    sequence = trace.prompt(index) + trace.outputs[index][:-TOKEN_BYTES]
    start = token * TOKEN_BYTES
    text = pool.tokenizer.decode(sequence[start : start + _WINDOW * TOKEN_BYTES])[:TEXT_CHARS]
    request = trace.requests[index].id
    behind = token - trace.lengths[index]
    if behind >= 0:
        label = f"its reply, token {behind + 1}" if text else "its end"
        return Side(request, None, 0, 0, label, text)
    place = locate(trace, index, token)
    return Side(request, place.path, place.start, place.start + len(text), place.label, text)


def _reason(trace: Trace, index: int, match: Match | None, here: Side | None, there: Side | None) -> str:
    """The case that this request is, in one sentence without prompt text."""
    if match is None:
        if trace.order[0] == index:
            return "It is the first request of the log: nothing was cached before it."
        return "No earlier request shares its cache (model, vocabulary and namespace)."
    if match.tokens >= trace.lengths[index]:
        return f"Its whole prompt was sent before, by {match.request_id}."
    if match.covers_prompt:
        replied = ", and part of its reply" if match.in_reply else ""
        return f"It continues {match.request_id}: all of that prompt is matched{replied}."
    if here is None or there is None:
        return f"It shares {match.tokens} tokens with {match.request_id}."
    if match.tokens == 0:
        return "Its very first token differs from every earlier request."
    if here.label == there.label:
        return f"It parts from {match.request_id} in the {here.label}."
    return f"It parts from {match.request_id} where it has its {here.label} and the other its {there.label}."
