"""A replay against a server from its first look at it to the comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import msgspec

from radixadvisor.endpoint.compare import differences, reason, warnings
from radixadvisor.endpoint.drive import Call, Load, Sent, send_all
from radixadvisor.endpoint.identify import chosen_model, counters, identify, tokens_of
from radixadvisor.endpoint.patience import DEFAULT, Patience
from radixadvisor.endpoint.predict import expected_hits
from radixadvisor.endpoint.results import EndpointReplay, EndpointRow
from radixadvisor.endpoint.server import Server
from radixadvisor.errors import UsageError
from radixadvisor.records import Request
from radixadvisor.trace import Trace
from radixadvisor.trace.exports import body_of

__all__ = ["EndpointOptions", "replay_endpoint"]

_CHAT, _TEXT = "/v1/chat/completions", "/v1/completions"
_OWN = frozenset(
    {"stream", "stream_options", "max_tokens", "max_completion_tokens", "n", "temperature", "model"}
)
"""Fields that the replay sets itself."""


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """A replay against a server.

    Attributes:
        url: where it listens, with or without ``/v1``.
        key: a bearer token, shown nowhere.
        model: the model to ask for; None for the only one served, else the log's.
        clients: requests in flight; None follows the log's arrivals.
        speedup: how much faster than the log arrivals follow each other.
        limit: requests to send, the first by arrival.
        max_new: output tokens per request at most.
        patience: time limits and retries.
    """

    url: str
    key: str | None = None
    model: str | None = None
    clients: int | None = 1
    speedup: float = 1.0
    limit: int | None = None
    max_new: int = 16
    patience: Patience = DEFAULT

    def __post_init__(self) -> None:
        """Raises UsageError for a value that cannot work."""
        for name in ("clients", "limit", "max_new"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name.replace('_', ' ')} must be at least 1, not {value}.")
        if not 0 < self.speedup < float("inf"):
            raise UsageError(f"A speed-up must be above 0, not {self.speedup:g}.")
        if self.patience.timeout <= 0 or self.patience.retries < 0:
            raise UsageError("A timeout must be above 0 s, and retries 0 or more.")


def replay_endpoint(
    trace: Trace, options: EndpointOptions, progress: Callable[[int], None] | None = None
) -> EndpointReplay:
    """Send a log to a server and compare what it reports with what its engine's rules predict.

    An interrupt ends the replay with what has been answered so far, ``complete`` False.

    Raises:
        UsageError: no server answers, the model is unclear, or the log has no prompts to send.
    """
    chosen = trace.order[: options.limit]
    requests = [trace.requests[index] for index in chosen]
    if any(request.blocks is not None for request in requests):
        raise UsageError("A hash trace has no prompts that could be sent to a server.")
    arrivals = _due(requests, options)
    clients = options.clients
    server = Server(options.url, options.key, options.patience, clients or 64)
    model = chosen_model(server.models(), options.model, {request.model for request in requests})
    engine = identify(server)
    bodies = [
        _body(request, model, trace.output_lengths[index], options)
        for index, request in zip(chosen, requests, strict=True)
    ]
    own = (
        [tokens_of(server, engine, model, body) for body in bodies]
        if bodies and tokens_of(server, engine, model, bodies[0])
        else []
    )
    known = [tokens for tokens in own if tokens is not None]
    exact = bool(known) and len(known) == len(bodies)
    prompts = known if exact else [trace.prompt(index) for index in chosen]
    calls = [
        Call(place, _CHAT if request.messages is not None else _TEXT, msgspec.json.encode(body), due)
        for place, (request, body, due) in enumerate(zip(requests, bodies, arrivals, strict=True))
    ]
    before = counters(server)
    answered: dict[int, Sent] = {}
    complete = True
    began = monotonic()
    try:
        send_all(
            server,
            calls,
            Load(clients, options.patience),
            progress,
            lambda sent: answered.update({sent.index: sent}),
        )
    except KeyboardInterrupt:
        complete = False
    seconds = monotonic() - began
    after = counters(server) if complete else None
    places = sorted(answered)
    expected = expected_hits(
        [prompts[place] for place in places],
        [trace.namespace(chosen[place]) for place in places],
        engine,
        [answered[place].counts.completion or 0 for place in places],
    )
    rows = tuple(
        EndpointRow(
            id=requests[place].id,
            prompt=found.prompt,
            predicted=found.cached,
            bound=found.bound,
            reason=reason(found, answered[place], engine, serial=clients == 1),
            sent=answered[place],
        )
        for place, found in zip(places, expected, strict=True)
    )
    good = [row for row in rows if row.sent.failure is None]
    told = [row.sent.counts.cached for row in good if row.sent.counts.cached is not None]
    risen = after.since(before) if before is not None and after is not None else None
    counted = None if risen is None else round(risen.hits)
    reported = sum(told) if told else None
    missing = {}
    if reported is None:
        missing["reported"] = "the server reports no cached tokens" if good else "no request was answered"
    if counted is None:
        missing["counted"] = (
            "the server shows no counters of its cache" if complete else "the replay was interrupted"
        )
    return EndpointReplay(
        url=server.url,
        engine=engine.name,
        model=model,
        tokenizer="the server's" if exact else "the log's",
        rows=rows,
        seconds=seconds,
        prompt_tokens=sum(row.prompt for row in good),
        predicted=sum(row.predicted for row in good),
        reported=reported,
        counted=counted,
        differences=differences(good),
        warnings=tuple(warnings(rows, before, counted, reported)),
        retried=dict(sorted(sum((Counter(row.sent.failures) for row in rows), Counter()).items())),
        failed=dict(
            sorted(Counter(row.sent.failure for row in rows if row.sent.failure is not None).items())
        ),
        complete=complete,
        not_evaluated=missing,
    )


def _due(requests: Sequence[Request], options: EndpointOptions) -> list[float]:
    """Seconds after the start at which each request is due; zeros where clients set the pace."""
    if options.clients is not None:
        return [0.0] * len(requests)
    arrivals = [request.arrival for request in requests]
    known = [arrival for arrival in arrivals if arrival is not None]
    if len(known) < len(arrivals):
        raise UsageError("Some requests have no time of arrival: give --concurrency N instead of --arrivals.")
    return [(arrival - known[0]) / options.speedup for arrival in known]


def _body(request: Request, model: str, output: int, options: EndpointOptions) -> Mapping[str, Any]:
    """The request as the log has it, answered greedily, briefly, and as a stream."""
    logged = {name: value for name, value in body_of(request).items() if name not in _OWN}
    return logged | {
        "model": model,
        "max_tokens": max(min(output, options.max_new), 1),
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
