"""Edits of a conversation's history. Each sees all requests of an application in order of arrival, since what
a turn should have been is told by the turns before it; it returns one request for each, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from radixadvisor.diagnose.turns import change_of, steps, threads
from radixadvisor.prescribe.edits.replay import keep_reasoning, replay_verbatim
from radixadvisor.prescribe.edits.sidecalls import replay_prefix
from radixadvisor.prescribe.edits.spaces import even_whitespace
from radixadvisor.records import Message, Request

__all__ = ["LOG_EDITS", "LogEdit"]

LogEdit = Callable[[Sequence[Request], Mapping[str, str]], list[Request]]

Turns = tuple[Message, ...]


def trim_in_batches(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Cut histories at every ``step``-th message of their conversation only, behind ``pinned`` messages.

    A cut falls on the next turn of one of the roles ``starts``. Requests whose history is whole stay.
    """
    pinned, step = int(parameters["pinned"]), int(parameters["step"])
    starts = tuple(parameters["starts"].split(","))
    numbers = threads(requests)
    places = [_Timeline(pinned) for _ in range(max(numbers, default=-1) + 1)]
    firsts = [
        places[number].add(request.messages) if number >= 0 and request.messages else 0
        for request, number in zip(requests, numbers, strict=True)
    ]
    edited = []
    for request, number, first in zip(requests, numbers, firsts, strict=True):
        if not first or request.messages is None:
            edited.append(request)
            continue
        border = places[number].border(first, step, starts)
        cut = min(border - first, _last_start(request.messages, pinned, starts) - pinned)
        kept = (*request.messages[:pinned], *request.messages[pinned + max(cut, 0) :])
        edited.append(replace(request, messages=kept) if cut > 0 else request)
    return edited


class _Timeline:
    """All messages of a conversation behind the pinned ones, in order, gathered from windows of it."""

    def __init__(self, pinned: int) -> None:
        self._pinned = pinned
        self._window: Turns = ()
        self._first = 0
        self.roles: list[str] = []

    def add(self, messages: Turns) -> int:
        """Take the window of the next request; the place of its first message in the conversation."""
        window = messages[self._pinned :]
        old = self._window
        shift = 0 if window[: len(old)] == old else self._shift(old, window)
        self._first += shift
        self._window = window
        self.roles[self._first :] = [message.role for message in window]
        return self._first

    @staticmethod
    def _shift(old: Turns, window: Turns) -> int:
        for start in range(len(old)):
            overlap = old[start:-1]
            if overlap == window[: len(overlap)] and (overlap or (window and old[start] is window[0])):
                return start
        return 0

    def border(self, place: int, step: int, starts: Sequence[str]) -> int:
        """The first place at or behind ``place`` where histories may begin."""
        multiple = 0
        while True:
            found = multiple
            while found < len(self.roles) and self.roles[found] not in starts:
                found += 1
            if found >= place or found >= len(self.roles):
                return found
            multiple += step


def _last_start(messages: Turns, pinned: int, starts: Sequence[str]) -> int:
    """The last message that a history may begin with."""
    for index in range(len(messages) - 1, pinned - 1, -1):
        if messages[index].role in starts:
            return index
    return pinned


def rewrite_in_batches(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Replace old messages ``batch`` at a time; until a batch is full they stay as they were first sent."""
    batch = int(parameters["batch"])

    def restored(messages: Turns, firsts: dict[int, Message]) -> Turns:
        replaced = [
            index
            for index, message in enumerate(messages)
            if index in firsts
            and firsts[index] is not message
            and change_of(firsts[index], message) == "rewritten"
        ]
        waiting = set(replaced[len(replaced) // batch * batch :])
        return tuple(firsts[index] if index in waiting else message for index, message in enumerate(messages))

    return _with_first_forms(requests, restored)


def cut_once(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Give a message that is cut at several lengths the shortest of them throughout its conversation."""
    shortest: dict[tuple[object, ...], Message] = {}
    numbers = threads(requests)
    for request, number in zip(requests, numbers, strict=True):
        for index, message in enumerate(request.messages or ()):
            key = (number, index, message.role, message.tool_call_id)
            known = shortest.setdefault(key, message)
            if len(message.text) < len(known.text) and change_of(known, message) == "truncated":
                shortest[key] = message
    edited = []
    for request, number in zip(requests, numbers, strict=True):
        messages = []
        for index, message in enumerate(request.messages or ()):
            known = shortest[number, index, message.role, message.tool_call_id]
            cut = known is not message and change_of(message, known) == "truncated"
            messages.append(known if cut else message)
        same = request.messages is None or tuple(messages) == request.messages
        edited.append(request if same else replace(request, messages=tuple(messages)))
    return edited


def _with_first_forms(
    requests: Sequence[Request], restored: Callable[[Turns, dict[int, Message]], Turns]
) -> list[Request]:
    """Each conversation's messages through ``restored`` with the form in which each place was first sent."""
    firsts: dict[int, dict[int, Message]] = {}
    in_place = {step.after for step in steps(requests) if not step.cut}
    edited = []
    for position, (request, number) in enumerate(zip(requests, threads(requests), strict=True)):
        if request.messages is None or number < 0:
            edited.append(request)
            continue
        known = firsts.setdefault(number, {})
        if position not in in_place:
            known.clear()
        # The last turn may carry what belongs to this request alone; it counts once others follow it.
        for index, message in enumerate(request.messages[:-1]):
            known.setdefault(index, message)
        last = len(request.messages) - 1
        if request.messages[last].role == "tool":
            known.setdefault(last, request.messages[last])
        messages = restored(request.messages, known)
        edited.append(request if messages == request.messages else replace(request, messages=messages))
    return edited


LOG_EDITS: dict[str, LogEdit] = {
    "cut_once": cut_once,
    "even_whitespace": even_whitespace,
    "keep_reasoning": keep_reasoning,
    "replay_prefix": replay_prefix,
    "replay_verbatim": replay_verbatim,
    "rewrite_in_batches": rewrite_in_batches,
    "trim_in_batches": trim_in_batches,
}
