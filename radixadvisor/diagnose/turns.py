"""How a conversation goes on from one request to its next: grown, cut in front, or changed in place.

Messages are interned, so an unchanged history is told by identity, at the speed of a tuple comparison.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.clusters import HEAD_ROLES, head_of
from radixadvisor.records import Message, Request

__all__ = [
    "Step",
    "canonical",
    "change_of",
    "normal",
    "parting",
    "plain_text",
    "reply_index",
    "same_reply",
    "spellings",
    "steps",
    "threads",
]

_THINK = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_CUT_MARK = 60
_CUT_SHARED = 32


@dataclass(frozen=True, slots=True)
class Step:
    """A request (``after``) and the one before it in its conversation, as positions in the sequence given.

    ``kept`` leading messages are the same. Behind them either ``cut`` messages have vanished and the rest
    goes on, or the messages ``changed`` (indices in both) became others. Neither: the history only grew.
    """

    before: int
    after: int
    kept: int
    cut: int = 0
    changed: tuple[int, ...] = ()


def threads(requests: Sequence[Request]) -> list[int]:
    """A conversation's number for each request, in order of arrival: by session where the log names one,
    else by the request whose last turn stands in this one's history; -1 without messages.
    """
    numbers: list[int] = []
    named: dict[tuple[str, int, bool], int] = {}
    ends: dict[tuple[object, ...], int] = {}
    count = 0
    for request in requests:
        messages = request.messages
        if not messages:
            numbers.append(-1)
            continue
        number = None
        if request.session is not None:
            # A session may hold side calls of another application: those are told by head and tools.
            number = named.setdefault((request.session, head_of(request), request.tools is not None), count)
        else:
            for end in range(len(messages) - 1, 0, -1):
                number = ends.get(_end(messages, end))
                if number is not None:
                    break
            ends[_end(messages, len(messages))] = number = count if number is None else number
        count += number == count
        numbers.append(number)
    return numbers


def _end(messages: tuple[Message, ...], end: int) -> tuple[object, ...]:
    """What identifies the last two of the first ``end`` messages, whatever was stripped from them."""
    return tuple((message.role, normal(plain_text(message))) for message in messages[max(end - 2, 0) : end])


def steps(requests: Sequence[Request]) -> Iterator[Step]:
    """Every step of every conversation that can be followed, in order of arrival."""
    last: dict[int, int] = {}
    for position, number in enumerate(threads(requests)):
        if number < 0:
            continue
        before = last.get(number)
        last[number] = position
        if before is not None:
            step = _step(requests, before, position)
            if step is not None:
                yield step


def _step(requests: Sequence[Request], before: int, after: int) -> Step | None:
    old, new = requests[before].messages or (), requests[after].messages or ()
    if new[: len(old)] == old:
        return Step(before, after, len(old))
    kept = 0
    while kept < min(len(old), len(new)) and old[kept] is new[kept]:
        kept += 1
    for start in range(kept + 1, len(old)):
        if kept < len(new) and old[start] is new[kept]:
            rest = len(old) - start
            if old[start:-1] == new[kept : kept + rest - 1] and len(new) >= kept + rest:
                return Step(before, after, kept, cut=start - kept)
    if len(new) < len(old) or any(mine.role != theirs.role for mine, theirs in zip(old, new, strict=False)):
        return None
    changed = tuple(index for index in range(kept, len(old)) if old[index] is not new[index])
    # Where nothing between the changes stayed, the turns have moved instead: a window behind a new summary.
    if len(changed) > 1 and changed[-1] - changed[0] + 1 == len(changed):
        return None
    return Step(before, after, kept, changed=changed)


def reply_index(step: Step, requests: Sequence[Request]) -> int | None:
    """Where the later request should hold the earlier one's reply; None if its history ends before."""
    index = len(requests[step.before].messages or ()) - step.cut
    messages = requests[step.after].messages or ()
    return index if index < len(messages) and messages[index].role == "assistant" else None


def change_of(old: Message, new: Message) -> str:
    """What kind of change made ``new`` of ``old``: ``none``, ``reasoning``, ``arguments``, ``whitespace``,
    ``truncated`` or ``rewritten``.
    """
    before, after = plain_text(old), plain_text(new)
    raws = [[(call.name, call.arguments) for call in message.tool_calls] for message in (old, new)]
    if before == after and raws[0] == raws[1]:
        return "reasoning" if _reasons(old) != _reasons(new) else "none"
    if [(name, canonical(text)) for name, text in raws[0]] != [
        (name, canonical(text)) for name, text in raws[1]
    ]:
        return "rewritten"
    if normal(before) == normal(after):
        return "whitespace" if before != after else "arguments"
    return "truncated" if _cut_elsewhere(before, after) else "rewritten"


def same_reply(old: Message, new: Message) -> bool:
    """Whether two assistant turns say the same but for reasoning, whitespace and the form of arguments."""
    return normal(plain_text(old)) == normal(plain_text(new)) and _values(old) == _values(new)


def _values(message: Message) -> list[tuple[str, str]]:
    return [(call.name, canonical(call.arguments)) for call in message.tool_calls]


def plain_text(message: Message) -> str:
    """A message's text without reasoning that stands inside it."""
    text = message.text
    return _THINK.sub("", text) if message.role == "assistant" and "<think>" in text else text


def _reasons(message: Message) -> bool:
    return message.reasoning is not None or plain_text(message) != message.text


def normal(text: str) -> str:
    """A text in one Unicode form, each run of whitespace one blank, none at the ends."""
    if text.isascii():
        return _BLANKS.sub(" ", text).strip()
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()


def spellings(requests: Sequence[Request]) -> Iterator[list[tuple[object, ...]]]:
    """For each request and message what spellings of one text have in common: messages that differ in
    whitespace or Unicode form alone, anywhere in the head, or within one conversation behind it.
    """
    keys: dict[int, tuple[object, ...]] = {}
    for request, number in zip(requests, threads(requests), strict=True):
        found = []
        for message in request.messages or ():
            key = keys.get(id(message))
            if key is None:
                key = keys[id(message)] = _spelling(message)
            found.append((*key, -1 if message.role in HEAD_ROLES else number))
        yield found


def _spelling(message: Message) -> tuple[object, ...]:
    content = message.content
    text: object = (
        tuple((part.kind, normal(part.text)) for part in content)
        if isinstance(content, tuple)
        else normal(content or "")
    )
    return (message.role, text, message.tool_calls, message.tool_call_id, message.reasoning)


def parting(old: str, new: str) -> int:
    """The first character at which two texts differ; the shorter one's end if none does."""
    at = 0
    while at < min(len(old), len(new)) and old[at] == new[at]:
        at += 1
    return at


def canonical(text: str) -> str:
    """JSON with sorted keys; a text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return text


def _cut_elsewhere(first: str, second: str) -> bool:
    """Whether two texts are one text cut at two lengths, each perhaps with a mark at its end."""
    if len(first) == len(second):
        return False
    shared = 0
    shorter, longer = sorted((first, second), key=len)
    low, high = 0, len(shorter)
    while low < high:
        shared = (low + high + 1) // 2
        low, high = (shared, high) if longer.startswith(shorter[:shared]) else (low, shared - 1)
    return low >= _CUT_SHARED and len(shorter) - low <= min(_CUT_MARK, low)
