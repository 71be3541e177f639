"""Requests that an engine serves without looking at its cache."""

from __future__ import annotations

from collections.abc import Collection

from radixadvisor.records import Request

__all__ = ["bypass_of"]

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
    for message in request.messages or ():
        if isinstance(message.content, tuple):
            for part in message.content:
                if part.kind != "text" and part.kind in features:
                    return part.kind
    return None
