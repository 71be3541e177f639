"""The messages of a request that a client's code writes anew each time, and blocks of text inside them.

A block is named by the literal text right before and right behind it, so that it is found again in any
request of its application. An empty literal stands for the beginning or the end of the text.
"""

from __future__ import annotations

from radixadvisor.diagnose.clusters import head_of
from radixadvisor.records import Message, Request

__all__ = ["FIRST", "LAST", "find_block", "head_zone", "is_head", "place_of", "zone_index"]

FIRST = "first"
"""The first user turn."""

LAST = "last"
"""The last user turn; a tool's result is none."""

_HEAD = "head:"


def head_zone(index: int) -> str:
    """The zone of a leading system or developer message."""
    return f"{_HEAD}{index}"


def is_head(zone: str) -> bool:
    """Whether a zone is a leading system or developer message."""
    return zone.startswith(_HEAD)


def zone_index(request: Request, zone: str) -> int | None:
    """The index of the message that a zone means; None where a request has none."""
    messages = request.messages or ()
    if zone.startswith(_HEAD):
        index = int(zone[len(_HEAD) :])
        return index if index < head_of(request) else None
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    if not users:
        return None
    return users[0] if zone == FIRST else users[-1]


def find_block(text: str, before: str, after: str) -> tuple[int, int] | None:
    """Start and end of the text between two literals; None where one of them is missing."""
    start = 0
    if before:
        start = text.find(before)
        if start < 0:
            return None
        start += len(before)
    end = len(text)
    if after:
        end = text.find(after, start)
        if end < 0:
            return None
    return start, end


def place_of(message: Message, index: int, start: int, end: int) -> tuple[str, int, int]:
    """JSON path and characters of ``message.text[start:end]``; of several parts the first one touched."""
    path = f"messages[{index}].content"
    if message.content is None or isinstance(message.content, str):
        return path, start, end
    for number, part in enumerate(message.content):
        if start < len(part.text) or number == len(message.content) - 1:
            return f"{path}[{number}].text", start, min(end, len(part.text))
        start, end = start - len(part.text) - 1, end - len(part.text) - 1
    return path, start, end
