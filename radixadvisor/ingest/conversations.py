"""Whole conversations as the requests that made them: one for each turn of the assistant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from radixadvisor.records import Message, Output, Request

from .raw import Unusable

__all__ = ["expanded"]


def expanded(
    messages: Sequence[Message],
    request: Request,
    arrivals: Sequence[float | None] = (),
    calls: Sequence[bool] = (),
) -> Iterator[Request]:
    """One request for each assistant's turn, whose prompt is what came before.

    Args:
        messages: the conversation.
        request: what all its requests have in common; its id is followed by the turn's number.
        arrivals: the time of each message, if it is known.
        calls: whether each message was generated in this conversation (demonstrations were not).

    Raises:
        Unusable: nothing was generated.
    """
    number = 0
    for index, message in enumerate(messages):
        if message.role != "assistant" or not index or (calls and not calls[index]):
            continue
        number += 1
        arrival = arrivals[index] if arrivals and arrivals[index] is not None else request.arrival
        yield replace(
            request,
            id=f"{request.id}#{number}",
            messages=tuple(messages[:index]),
            output=Output(message=message),
            arrival=arrival,
        )
    if not number:
        raise Unusable("no assistant turn", "nothing was generated in the conversation")
