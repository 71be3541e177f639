"""Edits that send an assistant's turns back as they were generated, and side calls behind the prompt that
they are about. Each sees all requests of an application in order of arrival, as in ``history``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from radixadvisor.diagnose.turns import canonical, normal, plain_text, threads
from radixadvisor.records import Message, Request

__all__ = ["keep_reasoning", "replay_verbatim"]

_THINK = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def replay_verbatim(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Assistant turns byte for byte as they were generated; where the log lacks the reply, as they were first
    sent back. Reasoning stays as the client sent it.
    """
    return _with_replies(requests, _verbatim)


def keep_reasoning(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Assistant turns with the reasoning that they were generated with, in every later request."""
    return _with_replies(requests, _reasoned)


def _verbatim(message: Message, reply: Message) -> Message:
    text = message.text
    wanted = reply.text
    if _THINK.match(wanted) and not _THINK.match(text):
        wanted = plain_text(reply)
    if _THINK.match(text) and not _THINK.match(wanted):
        wanted = text
    if (wanted, reply.tool_calls) == (text, message.tool_calls):
        return message
    # An empty content and a missing one are the same text: only what differs is taken over.
    content = message.content if wanted == text else wanted
    calls = tuple(
        replace(call, arguments=generated.arguments)
        for call, generated in zip(message.tool_calls, reply.tool_calls, strict=True)
    )
    if content == message.content and calls == message.tool_calls:
        return message
    return replace(message, content=content, tool_calls=calls)


def _reasoned(message: Message, reply: Message) -> Message:
    if _THINK.match(message.text) or message.reasoning is not None:
        return message
    if _THINK.match(reply.text):
        return replace(message, content=reply.text)
    return message if reply.reasoning is None else replace(message, reasoning=reply.reasoning)


def _with_replies(
    requests: Sequence[Request], change: Callable[[Message, Message], Message]
) -> list[Request]:
    """Each assistant turn through ``change`` with the reply that it repeats, of the same conversation."""
    keys: dict[int, tuple[object, ...]] = {}
    replies: dict[tuple[int, tuple[object, ...]], Message] = {}
    made: dict[tuple[int, int], Message] = {}

    def key_of(message: Message) -> tuple[object, ...]:
        key = keys.get(id(message))
        if key is None:
            calls = tuple((call.name, canonical(call.arguments)) for call in message.tool_calls)
            key = keys[id(message)] = (normal(plain_text(message)), calls)
        return key

    edited = []
    for request, number in zip(requests, threads(requests), strict=True):
        messages = []
        for message in request.messages or ():
            if message.role == "assistant":
                known = made.get((number, id(message)))
                if known is None:
                    reply = replies.setdefault((number, key_of(message)), message)
                    known = message if reply is message else change(message, reply)
                    made[number, id(message)] = known
                message = known
            messages.append(message)
        generated = request.output.message if request.output is not None else None
        if generated is not None:
            replies[number, key_of(generated)] = generated
        same = request.messages is None or tuple(messages) == request.messages
        edited.append(request if same else replace(request, messages=tuple(messages)))
    return edited
