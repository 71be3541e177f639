"""Prompts with their sections in another order, as a prompt builder without a fixed order sends them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from radixadvisor.records import Message, Part, Request

__all__ = ["sections", "shuffle_sections"]

_ROLES = frozenset({"system", "developer", "user"})
_HEADED = re.compile(r"(?m)^(?=#{1,6} |<[A-Za-z][\w-]*>[ \t]*$)")
_PARAGRAPHS = re.compile(r"(?<=\n\n)(?=[^\n])")


def sections(text: str) -> list[str]:
    """The sections of a text, which they add up to.

    A section begins at a Markdown heading or at an opening tag on a line of its own; in a text with fewer
    than two of them it is a paragraph.
    """
    for border in (_HEADED, _PARAGRAPHS):
        parts = [part for part in border.split(text) if part]
        if len(parts) > 1:
            return parts
    return [text]


def shuffle_sections(requests: Iterable[Request], seed: int = 0) -> Iterator[Request | None]:
    """Each request with the sections of its system, developer and user messages in a random order.

    Yields None for a request that has no text with two sections.
    """
    for number, request in enumerate(requests):
        rng = Random(f"{seed}:{number}")
        if request.text is not None:
            text = _shuffled(request.text, rng)
            yield None if text is None else replace(request, text=text)
        elif request.messages is not None:
            messages = [_message(message, rng) for message in request.messages]
            if any(new is not None for new in messages):
                pairs = zip(messages, request.messages, strict=True)
                yield replace(request, messages=tuple(new or old for new, old in pairs))
            else:
                yield None
        else:
            yield None


def _message(message: Message, rng: Random) -> Message | None:
    if message.role not in _ROLES or not message.content:
        return None
    if isinstance(message.content, str):
        text = _shuffled(message.content, rng)
        return None if text is None else replace(message, content=text)
    parts = [_part(part, rng) for part in message.content]
    if not any(part is not None for part in parts):
        return None
    return replace(
        message, content=tuple(new or old for new, old in zip(parts, message.content, strict=True))
    )


def _part(part: Part, rng: Random) -> Part | None:
    text = _shuffled(part.text, rng) if part.kind == "text" else None
    return None if text is None else replace(part, text=text)


def _shuffled(text: str, rng: Random) -> str | None:
    """None if there is nothing to shuffle. A last section without a line end gets the one that it needs."""
    parts = sections(text)
    if len(parts) < 2:
        return None
    if not parts[-1].endswith("\n"):
        parts[-1] += "\n\n"
    rng.shuffle(parts)
    return "".join(parts).rstrip("\n") + text[len(text.rstrip("\n")) :]
