"""Reported against predicted cached tokens: the rules behind the prediction, and why the report differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import gcd

from radixadvisor.endpoint.drive import Sent
from radixadvisor.endpoint.identify import LLAMA, UNKNOWN, Engine
from radixadvisor.endpoint.predict import Expected
from radixadvisor.endpoint.results import Difference, EndpointRow, Step

__all__ = ["comparable", "differences", "grain_of", "reason", "steps", "zeros_told"]

_SMALLEST_PAGE = 4


def zeros_told(sent: Sequence[Sent], engine: Engine) -> list[Sent]:
    """Answers with the cached tokens that they mean: vLLM and SGLang leave the field out where it would be
    0, so that in a run in which any answer has it, the others say 0. llama.cpp always has it.
    """
    told = any(one.counts.cached is not None for one in sent)
    if engine.name == LLAMA or not told:
        return list(sent)
    return [
        replace(one, counts=replace(one.counts, cached=0))
        if one.counts.prompt is not None and one.counts.cached is None and not one.counts.impossible
        else one
        for one in sent
    ]


def grain_of(sent: Sequence[Sent], engine: Engine) -> int:
    """The page of a cache whose engine is not known, if all that it reports are multiples of one; else 1."""
    told = {one.counts.cached for one in sent if one.counts.cached}
    common = gcd(*told) if engine.name == UNKNOWN and len(told) > 1 else 1
    return common if common >= _SMALLEST_PAGE else 1


def reason(
    expected: Expected | None, sent: Sent, engine: Engine, *, serial: bool = True, grain: int = 1
) -> str:
    """Why a request's reported cached tokens are not the predicted ones; empty if they are, or if nothing is
    reported.

    Args:
        expected: None where nothing could be predicted.
        sent: what the server answered.
        engine: whose rules were followed.
        serial: one request was sent after the other.
        grain: what all that the server reports are multiples of.
    """
    counts = sent.counts
    if sent.failure is not None or counts.cached is None:
        return ""
    if expected is None:
        return "template: the server does not tell this prompt's tokens" if counts.cached else ""
    if counts.cached == expected.cached:
        return ""
    if counts.prompt is not None and counts.prompt != expected.prompt:
        return "template: the server makes other tokens of the prompt"
    if sent.attempts > 1:
        return "sent more than once: a failed attempt may have filled the cache"
    if counts.cached == expected.prompt == expected.shared:
        return "last token: the server counts it as cached"
    if counts.cached > expected.shared:
        return "not sent by this replay: the cache was warm, or the prompt repeats a generated output"
    if engine.name == LLAMA and serial:
        return "slots: the server chose or kept another sequence"
    if engine.name == LLAMA:
        return "slots, in flight: another one was free, or what it shares was not computed yet"
    if grain > 1 and counts.cached == expected.cached - expected.cached % grain:
        return f"pages: the server shares whole ones of {grain} tokens"
    if counts.cached > expected.cached:
        return "pages: the server shares smaller pieces than predicted"
    if not serial:
        return "in flight: what it shares was not computed yet, or no longer held"
    return "evicted, or never stored"


def comparable(rows: Iterable[EndpointRow]) -> list[EndpointRow]:
    """The answered requests whose cached tokens are reported; all answered ones where none is."""
    answered = [row for row in rows if row.sent.failure is None]
    return [row for row in answered if row.reported is not None] or answered


def steps(rows: Sequence[EndpointRow], engine: Engine, *, own_tokens: bool) -> tuple[Step, ...]:
    """The rules between the tokens that the log repeats and the predicted ones."""
    found = []
    if own_tokens:
        name = "template: in the server's tokens, its generation prompt included"
        found.append(Step(name, sum(row.shared - row.logged for row in rows)))
    name = "last token: computed even where the whole prompt is cached"
    found.append(Step(name, sum(row.bound - row.shared for row in rows)))
    served = sum(row.predicted - row.bound for row in rows)
    if engine.name == LLAMA:
        count = "1 slot keeps its" if engine.slots == 1 else f"{engine.slots} slots keep their"
        found.append(Step(f"slots: {count} last sequence, host memory those given up", served))
    elif engine.page > 1:
        found.append(Step(f"pages: only whole ones of {engine.page} tokens are shared", served))
    return tuple(found)


def differences(rows: Sequence[EndpointRow]) -> tuple[Difference, ...]:
    """The rows whose report differs, by reason."""
    requests: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for row in rows:
        if row.reason and row.reported is not None:
            requests[row.reason] += 1
            tokens[row.reason] += row.reported - row.predicted
    order = sorted(requests, key=lambda name: (-abs(tokens[name]), name))
    return tuple(Difference(name, requests[name], tokens[name]) for name in order)
