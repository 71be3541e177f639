"""A replay against a server from its first look at it to the comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from radixadvisor.endpoint.account import Heard, account
from radixadvisor.endpoint.drive import Call, Load, Sent, send_all
from radixadvisor.endpoint.identify import Engine, chosen_model, counters, identify, tokens_of
from radixadvisor.endpoint.options import EndpointOptions
from radixadvisor.endpoint.results import EndpointReplay
from radixadvisor.endpoint.server import Server
from radixadvisor.errors import UsageError
from radixadvisor.records import Request
from radixadvisor.trace import Trace
from radixadvisor.trace.exports import body_of

if TYPE_CHECKING:
    from radixadvisor.ingest import Log

__all__ = ["EndpointOptions", "replay_endpoint"]

_CHAT, _TEXT = "/v1/chat/completions", "/v1/completions"
_OWN = frozenset(
    {"stream", "stream_options", "max_tokens", "max_completion_tokens", "n", "temperature", "model"}
)
"""Fields that the replay sets itself."""

_UNTOLD = 0.2
"""Share of prompts, from the first on, whose tokens a server may keep to itself."""

Progress = Callable[[int, int], None]
"""Called with the requests that have ended so far, and those there are."""


def replay_endpoint(
    trace: Trace, log: Log, options: EndpointOptions, progress: Progress | None = None
) -> EndpointReplay:
    """Send a log to a server and compare what it reports with what its engine's rules predict.

    An interrupt ends the sending with what has been answered so far, ``complete`` False.

    Raises:
        Unreachable: nothing answers at the address.
        UsageError: the model is unclear, or the log has no prompts to send.
    """
    chosen = trace.order[: options.limit]
    requests = [trace.requests[index] for index in chosen]
    if any(request.blocks is not None for request in requests):
        raise UsageError("A hash trace has no prompts that could be sent to a server.")
    arrivals = _due(requests, options)
    server = Server(options.url, options.key, options.patience)
    names = [name for name, _ in Counter(request.model for request in requests).most_common() if name]
    model = chosen_model(server.models(), options.model, names)
    engine = identify(server)
    bodies = [
        _body(request, model, trace.output_lengths[index], options)
        for index, request in zip(chosen, requests, strict=True)
    ]
    own = _own_tokens(server, engine, model, bodies)
    calls = [
        Call(place, _CHAT if request.messages is not None else _TEXT, msgspec.json.encode(body), due)
        for place, (request, body, due) in enumerate(zip(requests, bodies, arrivals, strict=True))
    ]
    before = counters(server)
    answered: dict[int, Sent] = {}

    def done(sent: Sent) -> None:
        answered[sent.index] = sent
        if progress is not None:
            progress(len(answered), len(calls))

    complete = True
    began = monotonic()
    try:
        send_all(server, calls, Load(options.clients, options.patience), done)
    except KeyboardInterrupt:
        complete = False
    seconds = monotonic() - began
    heard = Heard(
        requests=requests,
        logged=[trace.prompt(index) for index in chosen],
        own=own,
        sent=answered,
        seconds=seconds,
        before=before,
        after=counters(server) if complete and before is not None else None,
        complete=complete,
    )
    return account(
        heard,
        engine,
        url=server.url,
        model=model,
        log=(log.files, log.dialect, trace.skips.total),
        setup={
            "clients": options.clients,
            "arrivals": options.clients is None,
            "speedup": options.speedup,
            "max_new": options.max_new,
            "timeout": options.patience.timeout,
            "retries": options.patience.retries,
        },
    )


def _due(requests: Sequence[Request], options: EndpointOptions) -> list[float]:
    """Seconds after the start at which each request is due; zeros where clients set the pace."""
    if options.clients is not None:
        return [0.0] * len(requests)
    arrivals = [request.arrival for request in requests]
    known = [arrival for arrival in arrivals if arrival is not None]
    if len(known) < len(arrivals):
        raise UsageError("--arrivals needs a timestamp with every request; this log lacks some.")
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


def _own_tokens(
    server: Server, engine: Engine, model: str, bodies: Sequence[Mapping[str, Any]]
) -> list[bytes | None] | None:
    """The prompts in the server's tokens, None for one that it does not tell (its template may refuse it);
    None altogether if it tells few of them.
    """
    found: list[bytes | None] = []
    untold = 0
    for body in bodies:
        found.append(tokens_of(server, engine, model, body))
        untold += found[-1] is None
        if untold > len(found) * _UNTOLD:
            return None
    return found
