"""The plain data of a replay against a server."""

from __future__ import annotations

from dataclasses import dataclass, field

from radixadvisor.endpoint.drive import Sent

__all__ = ["Difference", "EndpointReplay", "EndpointRow"]


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """One request: tokens as predicted and as reported, why they differ, and what became of it.

    ``prompt`` and ``predicted`` are tokens by the tokenizer named in the replay; ``bound`` is what any prefix
    cache could serve. ``reason`` is empty where prediction and report agree, and where nothing is reported.
    """

    id: str
    prompt: int
    predicted: int
    bound: int
    reason: str
    sent: Sent


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
        url: the server, without any key.
        engine: ``llama.cpp``, ``vllm``, ``sglang`` or ``unknown``.
        model: the model asked for.
        tokenizer: whose tokens ``prompt`` and ``predicted`` are in: the server's or the log's.
        rows: requests in the order sent.
        seconds: from the first request sent to the last answer.
        predicted, reported, prompt_tokens: tokens of the answered requests; ``reported`` is None where the
            server reports no cached tokens.
        counted: tokens hit by the server's own counters between before and after; None without counters.
        differences: why reported and predicted tokens differ, the largest first.
        warnings: what makes the figures doubtful.
        retried: failed attempts by kind that were made good or not.
        failed: requests without an answer, by the last failure.
        complete: False if it was interrupted.
    """

    url: str
    engine: str
    model: str
    tokenizer: str
    rows: tuple[EndpointRow, ...]
    seconds: float
    prompt_tokens: int
    predicted: int
    reported: int | None
    counted: int | None
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    retried: dict[str, int]
    failed: dict[str, int]
    complete: bool
    not_evaluated: dict[str, str] = field(default_factory=dict)
