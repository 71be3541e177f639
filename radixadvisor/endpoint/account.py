"""From what a server answered to the figures of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radixadvisor.endpoint.compare import comparable, differences, grain_of, reason, steps, zeros_told
from radixadvisor.endpoint.doubts import warnings
from radixadvisor.endpoint.drive import Sent
from radixadvisor.endpoint.identify import LLAMA, Engine
from radixadvisor.endpoint.metrics import CacheCounters
from radixadvisor.endpoint.predict import Prompt, expected_hits, shared_tokens
from radixadvisor.endpoint.results import EndpointReplay, EndpointRow
from radixadvisor.endpoint.server import CUT, TIMEOUT
from radixadvisor.records import Request
from radixadvisor.replaying.measured import HIT_SHARE
from radixadvisor.replaying.results import Spread
from radixadvisor.simulate.requests import TOKEN_BYTES

__all__ = ["Heard", "account"]

_LATE_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Heard:
    """All that was sent and heard.

    Attributes:
        requests: the requests of the log that were to be sent.
        logged: their prompts in the log's tokens.
        own: their prompts in the server's tokens, None for one that it does not tell; None altogether if the
            prediction is in the log's.
        sent: what became of requests, by place; of an interrupted replay only what had ended.
        before, after: the server's counters.
    """

    requests: Sequence[Request]
    logged: Sequence[bytes]
    own: Sequence[bytes | None] | None
    sent: Mapping[int, Sent]
    seconds: float
    before: CacheCounters | None
    after: CacheCounters | None
    complete: bool


def account(
    heard: Heard,
    engine: Engine,
    *,
    url: str,
    model: str,
    log: tuple[Sequence[str], str, int],
    setup: Mapping[str, Any],
) -> EndpointReplay:
    """The result. ``log``: files, dialect, requests skipped."""
    rows = _rows(heard, engine, serial=setup["clients"] == 1)
    answered = [row for row in rows if row.sent.failure is None]
    told = comparable(rows)
    counts = [row.reported for row in told if row.reported is not None]
    reported = sum(counts) if counts else None
    risen = heard.after.since(heard.before) if heard.before is not None and heard.after is not None else None
    counted = None if risen is None else round(risen.hits)
    late = _late([row.sent.late for row in rows])
    return EndpointReplay(
        files=tuple(log[0]),
        dialect=log[1],
        requests=len(heard.requests),
        skipped=log[2],
        url=url,
        engine=engine.name,
        page=engine.page,
        slots=engine.slots,
        model=model,
        tokenizer="log" if heard.own is None else "server",
        setup=setup,
        rows=rows,
        seconds=heard.seconds,
        prompt_tokens=sum(
            row.prompt if row.sent.counts.prompt is None else row.sent.counts.prompt for row in answered
        ),
        output_tokens=sum(row.sent.counts.completion or 0 for row in answered),
        logged=sum(row.logged for row in told),
        predicted=sum(row.predicted for row in told),
        reported=reported,
        steps=steps(told, engine, own_tokens=heard.own is not None),
        differences=differences(told),
        before=heard.before,
        after=heard.after,
        counted=counted,
        ttft=_first_tokens(answered),
        late=late,
        warnings=warnings(rows, engine, heard.before, counted, reported, late),
        retried=_sorted(sum((Counter(row.sent.failures) for row in rows), Counter())),
        failed=_sorted(Counter(row.sent.failure for row in rows if row.sent.failure is not None)),
        complete=heard.complete,
        not_evaluated=_missing(heard, answered, reported, counted),
    )


def _rows(heard: Heard, engine: Engine, *, serial: bool) -> tuple[EndpointRow, ...]:
    places = sorted(heard.sent)
    sent = dict(zip(places, zeros_told([heard.sent[place] for place in places], engine), strict=True))
    # What arrives later finds what was computed before: the order of the attempts that were answered counts.
    known: dict[int, bytes] = {}
    for place in sorted(places, key=lambda place: sent[place].begun):
        tokens = heard.logged[place] if heard.own is None else heard.own[place]
        if tokens is not None and _computed(sent[place]):
            known[place] = tokens
    served = list(known)
    in_log = [_prompt(heard, heard.logged[place], place, engine, sent[place]) for place in served]
    in_own = [_prompt(heard, known[place], place, engine, sent[place]) for place in served]
    logged = dict(zip(served, shared_tokens(in_log), strict=True))
    expected = dict(zip(served, expected_hits(in_own, engine), strict=True))
    grain = grain_of(list(sent.values()), engine)
    rows = []
    for place in places:
        one, found = sent[place], expected.get(place)
        rows.append(
            EndpointRow(
                id=heard.requests[place].id,
                prompt=found.prompt if found else len(heard.logged[place]) // TOKEN_BYTES,
                logged=logged.get(place, 0),
                shared=found.shared if found else 0,
                bound=found.bound if found else 0,
                predicted=found.cached if found else 0,
                reported=one.counts.cached,
                reason=reason(found, one, engine, serial=serial, grain=grain),
                sent=one,
            )
        )
    return tuple(rows)


def _computed(sent: Sent) -> bool:
    """Whether the server had the prompt in its hands long enough to store it."""
    return sent.failure in (None, CUT, TIMEOUT)


def _prompt(heard: Heard, tokens: bytes, place: int, engine: Engine, sent: Sent) -> Prompt:
    """All requests go to one model: only what is sent with each splits the cache, which llama.cpp ignores."""
    namespace = "" if engine.name == LLAMA else repr(heard.requests[place].namespace)
    return Prompt(tokens, namespace, sent.counts.completion or 0)


def _first_tokens(answered: Sequence[EndpointRow]) -> dict[str, Spread | None]:
    times: dict[str, list[float]] = {"all": [], "hit": [], "miss": []}
    for row in answered:
        if row.sent.ttft is not None:
            cached = row.predicted if row.reported is None else row.reported
            times["all"].append(row.sent.ttft)
            times["hit" if cached >= HIT_SHARE * row.prompt else "miss"].append(row.sent.ttft)
    return {kind: _spread(found) for kind, found in times.items()}


def _spread(seconds: Sequence[float]) -> Spread | None:
    import numpy as np

    if not seconds:
        return None
    middle, high, highest = (float(value) for value in np.quantile(seconds, (0.5, 0.95, 0.99)))
    return Spread(len(seconds), middle, high, highest)


def _late(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(_LATE_SHARE * (len(seconds) - 1))] if seconds else 0.0


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _missing(
    heard: Heard, answered: Sequence[EndpointRow], reported: int | None, counted: int | None
) -> dict[str, str]:
    """Why figures are missing."""
    found = {}
    if reported is None:
        found["tokens.reported"] = (
            "the server reports no cached tokens" if answered else "no request was answered"
        )
    if heard.before is None:
        found["counters"] = "the server shows no counters of its cache"
    elif counted is None:
        found["tokens.counted"] = (
            "the counters were lost meanwhile" if heard.complete else "the replay was interrupted"
        )
    return found
