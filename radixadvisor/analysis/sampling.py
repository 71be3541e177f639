"""Whether a log betrays that it is a sample of the traffic: gaps in its numbers, answers without requests."""

from __future__ import annotations

import re
from dataclasses import dataclass

from radixadvisor.records import Message
from radixadvisor.trace import Trace

LOWER_BOUNDS = "hits across requests, lifetimes and what is in flight are lower bounds"

_NUMBERED = re.compile(r"(.*?)(\d{1,18})")
_FEWEST = 20
_NUMBERS_HELD = 0.9
_ANSWERS_HELD = 0.5
_SHARED = -1


@dataclass(frozen=True, slots=True)
class Sampled:
    """The share of the traffic that the log seems to hold, and how that shows."""

    share: float
    evidence: str


def sampled(trace: Trace) -> Sampled | None:
    """Signs that requests are missing; None where nothing speaks for it.

    Two signs count: ids that end in a running number and leave out more than a tenth of the numbers from the
    lowest to the highest, and sessions whose histories hold more answers than twice the requests that the log
    has of them (fewer may come from sessions that began before the log).
    """
    return _gaps([request.id for request in trace.requests]) or _missing_turns(trace)


def _gaps(ids: list[str]) -> Sampled | None:
    matches = [_NUMBERED.fullmatch(text) for text in ids]
    numbered = [match for match in matches if match is not None]
    if len(ids) < _FEWEST or len(numbered) < len(ids) or len({match[1] for match in numbered}) > 1:
        return None
    numbers = {int(match[2]) for match in numbered}
    lowest, highest = min(numbers), max(numbers)
    share = len(numbers) / (highest - lowest + 1)
    # Numbers spread over the whole range of a hash or a clock are no running number.
    if len(numbers) < len(ids) or not 0.001 < share < _NUMBERS_HELD:
        return None
    return Sampled(share, f"request ids run from {lowest} to {highest}, of which {len(numbers)} are here")


def _missing_turns(trace: Trace) -> Sampled | None:
    """Compare the answers in each session's longest history with the requests that the log has of it.

    An answer that several sessions carry is an example in the prompt, not an answer of this log.
    """
    spoken: dict[Message, int] = {}
    sessions: dict[int, list[tuple[Message, ...]]] = {}
    for index, request in enumerate(trace.requests):
        if request.session is None or request.messages is None:
            continue
        session = trace.sessions[index]
        sessions.setdefault(session, []).append(request.messages)
        for message in request.messages:
            if message.role == "assistant" and spoken.setdefault(message, session) != session:
                spoken[message] = _SHARED
    held = missing = 0
    for session, histories in sessions.items():
        answers = max(sum(spoken.get(message) == session for message in history) for history in histories)
        held += len(histories)
        missing += max(answers - (len(histories) - 1), 0)
    if held + missing < _FEWEST or held >= _ANSWERS_HELD * (held + missing):
        return None
    evidence = f"histories hold answers to {missing} requests that are not in the log, beside {held} that are"
    return Sampled(held / (held + missing), evidence)
