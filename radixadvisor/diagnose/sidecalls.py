"""Requests that hold the transcript of another conversation as text: titles, summaries, compactions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.turns import threads
from radixadvisor.records import Message, Request

__all__ = ["SideCall", "side_calls"]

_MOST_MESSAGES = 3
_LEAST_TEXT = 400
_LEAST_LINE = 24
_PRINT = 32
_NEWLINE = re.compile(r"\r?\n|\\n|\"(?:content|text)\":\s*\"")
_SPEAKER = re.compile(
    r"\s*[\[<*#\"]*(?:user|human|customer|assistant|ai|agent|bot|system|tool)[\]>*\"]*\s*[:>]\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SideCall:
    """A request that embeds a conversation. ``request`` and ``source`` (the latest request of that
    conversation before it) are positions in the sequence given; the transcript are the characters
    ``start:end`` of message ``message``; ``shown`` of the conversation's texts stand in it.
    """

    request: int
    source: int
    message: int
    start: int
    end: int
    shown: int


def side_calls(requests: Sequence[Request]) -> Iterator[SideCall]:
    """The side calls among requests in order of arrival."""
    prints = _Prints()
    latest: dict[int, int] = {}
    for position, (request, number) in enumerate(zip(requests, threads(requests), strict=True)):
        messages = request.messages
        if not messages:
            continue
        found = prints.transcript_in(messages[-1].text) if len(messages) <= _MOST_MESSAGES else None
        if found is not None:
            source, start, end, shown = found
            yield SideCall(position, latest[source], len(messages) - 1, start, end, shown)
            continue
        latest[number] = position
        reply = request.output.message if request.output is not None else None
        for message in (*messages, *(() if reply is None else (reply,))):
            prints.add(message, number)


class _Prints:
    """The beginnings of all lines of conversations, with the conversation and message that they are from."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[int, Message]] = {}
        self._seen: set[Message] = set()

    def add(self, message: Message, number: int) -> None:
        if message.role in ("system", "developer") or message in self._seen:
            return
        self._seen.add(message)
        for line in _NEWLINE.split(message.text):
            text = line.strip()
            if len(text) >= _LEAST_LINE:
                self._lines[text[:_PRINT]] = (number, message)

    def transcript_in(self, text: str) -> tuple[int, int, int, int] | None:
        """The conversation whose lines make up most of a text, where they stand, and how many of its
        messages.
        """
        if len(text) < _LEAST_TEXT:
            return None
        sizes: Counter[int] = Counter()
        spans: dict[int, list[tuple[int, int]]] = {}
        shown: dict[int, set[Message]] = {}
        start = 0
        for end, following in _borders(text):
            line = text[start:end]
            speaker = _SPEAKER.match(line)
            bare = (line[speaker.end() :] if speaker is not None else line).strip()
            known = self._lines.get(bare[:_PRINT]) if len(bare) >= _LEAST_LINE else None
            if known is not None:
                sizes[known[0]] += end - start
                spans.setdefault(known[0], []).append((start, end))
                shown.setdefault(known[0], set()).add(known[1])
            start = following
        if not sizes:
            return None
        number, size = sizes.most_common(1)[0]
        limits = rule("RA406")
        # Documents that come again are no transcript: that holds the words of both sides.
        if size < limits.threshold("share") * len(text) or len(shown[number]) < limits.threshold("messages"):
            return None
        if not {"user", "assistant"} <= {message.role for message in shown[number]}:
            return None
        return number, spans[number][0][0], spans[number][-1][1], len(shown[number])


def _borders(text: str) -> Iterator[tuple[int, int]]:
    """The end of each line, and the start of the next one."""
    for match in _NEWLINE.finditer(text):
        yield match.start(), match.end()
    yield len(text), len(text)
