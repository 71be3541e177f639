"""One spelling for messages that differ in whitespace or Unicode form alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from radixadvisor.diagnose.turns import spellings
from radixadvisor.records import Message, Part, Request

__all__ = ["even_whitespace"]

Content = str | tuple[Part, ...] | None


def even_whitespace(requests: Sequence[Request], parameters: Mapping[str, str]) -> list[Request]:
    """Each message in the form that most requests use, the earliest of several."""
    keys = list(spellings(requests))
    forms: dict[tuple[object, ...], Counter[Content]] = {}
    for request, own in zip(requests, keys, strict=True):
        for message, key in zip(request.messages or (), own, strict=True):
            forms.setdefault(key, Counter())[message.content] += 1
    chosen = {key: max(found, key=lambda form: found[form]) for key, found in forms.items() if len(found) > 1}
    made: dict[tuple[int, object], Message] = {}
    edited = []
    for request, own in zip(requests, keys, strict=True):
        messages = tuple(
            made.setdefault((id(message), key), replace(message, content=chosen[key]))
            if key in chosen and chosen[key] != message.content
            else message
            for message, key in zip(request.messages or (), own, strict=True)
        )
        same = request.messages is None or messages == request.messages
        edited.append(request if same else replace(request, messages=messages))
    return edited
