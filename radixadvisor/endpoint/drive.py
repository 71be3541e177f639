"""The load: every request of a log sent once it is due, and again where that may help."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from radixadvisor.endpoint.answers import NO_COUNTS, Counts
from radixadvisor.endpoint.patience import DEFAULT, Patience
from radixadvisor.endpoint.server import NO_CONNECTION, TIMEOUT, Attempt

__all__ = ["LOST_IN_A_ROW", "NOT_SENT", "Call", "Load", "Sent", "send_all"]

NOT_SENT = "not sent"
"""The failure of requests that were still to come when the server was given up."""

_MOST_OPEN = 512
LOST_IN_A_ROW = 8
_LOST = frozenset({NO_CONNECTION, TIMEOUT, "401", "403", "404"})
"""Failures of a server rather than of a request."""


class Asked(Protocol):
    """Who answers: a server."""

    def ask(self, path: str, body: bytes) -> Attempt:
        """One attempt."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to send: its number in the log, where to, the JSON body, and when it is due (seconds)."""

    index: int
    path: str
    body: bytes
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one request.

    ``failure`` is None if it was answered. ``failures`` counts every failed attempt by kind, also those that
    a later one made good. ``begun`` is when the answered attempt was sent, in seconds since the start of the
    replay, ``late`` how much after its time the first one was; ``ttft`` and ``seconds`` are of the answered
    attempt alone.
    """

    index: int
    failure: str | None
    attempts: int
    failures: dict[str, int]
    begun: float
    late: float
    ttft: float | None
    seconds: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class Load:
    """``clients`` requests in flight, each client sending its next one when one ends; None sends each request
    at its due time, however many are in flight (at most 512).
    """

    clients: int | None
    patience: Patience = DEFAULT


def send_all(
    server: Asked,
    calls: Sequence[Call],
    load: Load,
    done: Callable[[Sent], None] | None = None,
) -> list[Sent]:
    """Send all calls, in their order; the outcome of each, in the same order.

    Once 8 requests in a row are lost to a server that does not answer, however often each was tried, or that
    lets nobody in, it is given up, and the rest is not sent. ``done`` gets each outcome when it is there, so
    that an interrupted replay keeps what it has.
    """
    began = monotonic()
    stop, dead = threading.Event(), threading.Event()
    lost = 0
    inbox: SimpleQueue[tuple[int, Call] | None] = SimpleQueue()
    outbox: SimpleQueue[tuple[int, Sent | BaseException]] = SimpleQueue()
    found: dict[int, Sent] = {}

    def client() -> None:
        while (given := inbox.get()) is not None and not stop.is_set():
            place, call = given
            try:
                late = max(monotonic() - began - call.due, 0.0) if load.clients is None else 0.0
                sent = _unsent(call) if dead.is_set() else _send(server, call, load.patience, began, stop)
                outbox.put((place, replace(sent, late=late)))
            except BaseException as error:
                outbox.put((place, error))

    def take(timeout: float | None) -> None:
        nonlocal lost
        try:
            place, sent = outbox.get(timeout=timeout)
        except Empty:
            return
        if isinstance(sent, BaseException):
            raise sent
        found[place] = sent
        lost = lost + 1 if sent.failure in _LOST else 0
        if lost >= LOST_IN_A_ROW:
            dead.set()
        if done is not None:
            done(sent)

    clients = 0
    try:
        for place, call in enumerate(calls):
            while (
                load.clients is None and not dead.is_set() and (left := call.due - (monotonic() - began)) > 0
            ):
                take(left)
            # Threads of an interrupted replay may still wait for a server: they must not keep the program.
            if clients < (load.clients or _MOST_OPEN) and clients <= place - len(found):
                clients += 1
                threading.Thread(target=client, daemon=True, name=f"client {clients}").start()
            inbox.put((place, call))
        while len(found) < len(calls):
            take(None)
    finally:
        stop.set()
        for _ in range(clients):
            inbox.put(None)
    return [found[place] for place in range(len(calls))]


def _unsent(call: Call) -> Sent:
    return Sent(call.index, NOT_SENT, 0, {}, 0.0, 0.0, None, 0.0, NO_COUNTS)


def _send(server: Asked, call: Call, patience: Patience, began: float, stop: threading.Event) -> Sent:
    """Attempt a call until it is answered, refused for good, or out of attempts."""
    generator = random.Random(call.index)
    failures: Counter[str] = Counter()
    for number in range(patience.retries + 1):
        start = monotonic() - began
        attempt = server.ask(call.path, call.body)
        if attempt.failure is None:
            break
        failures[attempt.failure] += 1
        if not attempt.again or number == patience.retries:
            break
        if stop.wait(patience.wait(number, attempt.after, generator)):
            break
    return Sent(
        index=call.index,
        failure=attempt.failure,
        attempts=number + 1,
        failures=dict(failures),
        begun=start,
        late=0.0,
        ttft=attempt.ttft,
        seconds=attempt.seconds,
        counts=attempt.counts,
    )
