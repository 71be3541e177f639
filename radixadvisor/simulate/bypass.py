"""Requests that an engine serves without looking at its cache."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from radixadvisor.records import Request

__all__ = ["bypass_of", "media_of"]

_MEDIA = frozenset({"image", "audio", "video", "file", "document"})
_OFF = frozenset({"", "null", "false"})


def bypass_of(request: Request, features: Collection[str]) -> str | None:
    """The feature of a request for which an engine skips its lookup, None if it has none of them.

    Args:
        request: as read.
        features: names from an engine's rules. ``prompt_logprobs`` also stands for ``echo`` with
            ``logprobs``, which asks for the same; ``image`` and other media for parts of a message; any
            other name for the parameter of that name.
    """
    if not features:
        return None
    parameters = request.parameters
    for name in features:
        if parameters.get(name, "") not in _OFF:
            return name
    echoed = parameters.get("echo") == "true" and parameters.get("logprobs", "") not in _OFF
    if echoed and "prompt_logprobs" in features:
        return "prompt_logprobs"
    media = _MEDIA.intersection(features)
    return next((kind for kind in media_of(request) if kind in media), None) if media else None


def media_of(request: Request) -> Iterator[str]:
    """The kinds of the parts of a request's messages that are no text."""
    for message in request.messages or ():
        if isinstance(message.content, tuple):
            for part in message.content:
                if part.kind != "text":
                    yield part.kind
