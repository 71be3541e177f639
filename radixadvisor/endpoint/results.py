"""The plain data of a replay against a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from radixadvisor.endpoint.drive import Sent
from radixadvisor.endpoint.metrics import CacheCounters
from radixadvisor.replaying.results import Spread

__all__ = ["Difference", "EndpointReplay", "EndpointRow", "Step"]


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """One request: tokens as predicted and as reported, why they differ, and what became of it.

    ``prompt``, ``predicted`` and what leads to it (``logged``: shared with earlier prompts in the log's
    tokens, ``shared``: in the tokens of the prediction, ``bound``: without the last one) are tokens;
    ``reported`` is None where the answer names none. ``reason`` is empty where prediction and report agree,
    and where nothing is reported.
    """

    id: str
    prompt: int
    logged: int
    shared: int
    bound: int
    predicted: int
    reported: int | None
    reason: str
    sent: Sent


@dataclass(frozen=True, slots=True)
class Step:
    """One rule on the way from the log's repeated tokens to those that the server should report; ``tokens``
    is what it adds or takes away.
    """

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Requests whose reported tokens differ from the predicted ones for one reason, and by how much in sum
    (reported minus predicted).
    """

    reason: str
    requests: int
    tokens: int


@dataclass(frozen=True, slots=True)
class EndpointReplay:
    """A replay of a log against a server.

    Attributes:
        files, dialect, requests, skipped: the log, its usable requests that were to be sent, and the others.
        url: the server, without any key.
        engine: ``llama.cpp``, ``vllm``, ``sglang`` or ``unknown``, with its ``page`` and ``slots``.
        model: the model asked for.
        tokenizer: whose tokens the prediction is in: ``server`` or ``log``.
        setup: the load and its limits.
        rows: what became of each request, in the order of the log.
        seconds: from the first request sent to the last answer.
        prompt_tokens, output_tokens: of the answered requests, as the server counted them where it did.
        logged, predicted, reported: hit tokens of the answered requests whose report they can be compared
            with, all of them where none reports; ``reported`` is None then.
        steps: from ``logged`` to ``predicted``.
        differences: from ``predicted`` to ``reported``, the largest first.
        before, after: the server's own counters; ``counted`` is how many hit tokens they rose by.
        ttft: of all streamed answers, and of hits and misses apart; a hit has half its prompt from the cache.
        late: seconds by which the last tenth of requests was sent after its time, at least.
        warnings: what makes the figures doubtful.
        retried: failed attempts by kind that were made good or not.
        failed: requests without an answer, by the last failure.
        complete: False if it was interrupted.
    """

    files: tuple[str, ...]
    dialect: str
    requests: int
    skipped: int
    url: str
    engine: str
    page: int
    slots: int
    model: str
    tokenizer: str
    setup: Mapping[str, Any]
    rows: tuple[EndpointRow, ...]
    seconds: float
    prompt_tokens: int
    output_tokens: int
    logged: int
    predicted: int
    reported: int | None
    steps: tuple[Step, ...]
    differences: tuple[Difference, ...]
    before: CacheCounters | None
    after: CacheCounters | None
    counted: int | None
    ttft: Mapping[str, Spread | None]
    late: float
    warnings: tuple[str, ...]
    retried: Mapping[str, int]
    failed: Mapping[str, int]
    complete: bool
    not_evaluated: Mapping[str, str]

    @property
    def answered(self) -> int:
        """Requests with an answer."""
        return sum(row.sent.failure is None for row in self.rows)
