"""Side calls sent behind the conversation that they are about, instead of with a transcript of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from radixadvisor.diagnose.sidecalls import SideCall, side_calls
from radixadvisor.records import Message, Request

__all__ = ["replay_prefix"]

_PRINT = 32


def replay_prefix(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Each side call as the messages and tools of the conversation's latest request, its reply if the
    transcript shows it, and one user turn with the side call's own instructions.
    """
    edited = list(requests)
    for call in side_calls(requests):
        edited[call.request] = _behind(requests[call.request], requests[call.source], call)
    return edited


def _behind(request: Request, source: Request, call: SideCall) -> Request:
    own = request.messages or ()
    text = own[call.message].text
    transcript = text[call.start : call.end]
    parts = [message.text for message in own[: call.message]]
    parts += [text[: call.start], text[call.end :]]
    instruction = "\n\n".join(part.strip() for part in parts if part.strip())
    reply = source.output.message if source.output is not None else None
    turns = list(source.messages or ())
    if reply is not None and reply.text.strip() and reply.text.strip()[:_PRINT] in transcript:
        turns.append(reply)
    return replace(request, messages=(*turns, Message("user", instruction)), tools=source.tools)
