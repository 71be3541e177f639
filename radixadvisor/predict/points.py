"""Measured forward passes: what was computed and how long it took, from files or an engine's schedule."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from radixengine.scheduler import Step

from radixadvisor.errors import NoUsableInput, UsageError

__all__ = [
    "NO_POINTS",
    "DecodePoint",
    "Points",
    "PrefillPoint",
    "read_points",
    "step_points",
    "thinned",
    "to_rows",
]

_NEW = ("n", "new", "new_tokens")
_CACHED = ("c", "cached", "cached_tokens")
_BATCH = ("b", "batch", "batch_size")
_CONTEXT = ("ctx", "context", "context_tokens")
_SECONDS = {"seconds": 1.0, "s": 1.0, "ms": 1e-3, "milliseconds": 1e-3, "us": 1e-6}


@dataclass(frozen=True, slots=True)
class PrefillPoint:
    """A pass over prompts: ``new`` tokens, ``pairs`` of a new token with one it sees (n c + n^2 / 2 summed
    over the prompts), ``held`` tokens of KV read or written (c + n summed), and its seconds.
    """

    new: int
    pairs: float
    held: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DecodePoint:
    """A pass that decodes ``batch`` sequences whose contexts hold ``context`` tokens together."""

    batch: int
    context: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Points:
    """Measured passes, and what they were measured on where the file says so."""

    prefill: tuple[PrefillPoint, ...]
    decode: tuple[DecodePoint, ...]
    model: str | None = None
    device: str | None = None


NO_POINTS = Points((), ())

_MOST = 500
"""Passes of each phase that a file keeps."""


def thinned(parts: Sequence[Points]) -> Points:
    """The passes of several runs, at most 500 of each phase, evenly chosen from all."""

    def some(found: list[Any]) -> tuple[Any, ...]:
        step = max(len(found) / _MOST, 1.0)
        return tuple(found[int(number * step)] for number in range(min(len(found), _MOST)))

    return Points(
        some([one for part in parts for one in part.prefill]),
        some([one for part in parts for one in part.decode]),
    )


def prefill_point(chunks: Iterable[tuple[int, int]], seconds: float) -> PrefillPoint:
    """A pass over chunks of (new, cached) tokens."""
    pairs = [(int(new), int(cached)) for new, cached in chunks]
    return PrefillPoint(
        sum(new for new, _ in pairs),
        sum(new * cached + new * new / 2 for new, cached in pairs),
        sum(new + cached for new, cached in pairs),
        seconds,
    )


def step_points(schedule: Sequence[Step]) -> Points:
    """The passes of an engine's schedule. Passes that prefill and decode at once are left out; decode passes
    that were timed together share their seconds.
    """
    context: dict[int, int] = {}
    prefill, decode = [], []
    for step in schedule:
        if step.prefill and not step.decode:
            prefill.append(prefill_point([(new, start) for _, start, new in step.prefill], step.seconds))
        for rid, start, new in step.prefill:
            context[rid] = start + new
        if step.decode and not step.prefill:
            held = sum(context[rid] for rid in step.decode) + len(step.decode) * (step.passes + 1) / 2
            decode.append(DecodePoint(len(step.decode), held, step.seconds / step.passes))
        for rid in step.decode:
            context[rid] += step.passes
    return Points(tuple(prefill), tuple(decode))


def to_rows(points: Points) -> dict[str, list[dict[str, float]]]:
    """Points as plain data, in the form that ``read_points`` reads."""
    return {
        "prefill": [
            {"new": one.new, "pairs": one.pairs, "held": one.held, "seconds": one.seconds}
            for one in points.prefill
        ],
        "decode": [
            {"batch": one.batch, "context": one.context, "seconds": one.seconds} for one in points.decode
        ],
    }


def read_points(path: Path) -> Points:
    """Points from a CSV file, JSON lines or a JSON document.

    A row of a prefill pass has ``n``, ``c`` and ``seconds`` (or ``ms``); one of a decode pass ``b``
    (sequences) and ``ctx`` (tokens of their contexts together). A JSON document holds the rows as a list, or
    as ``prefill`` and ``decode``, also under ``points`` as in ``replay.json``.

    Raises:
        UsageError: the file cannot be read, or a row is none of these.
        NoUsableInput: there is no row.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot read {path}: {reason}.") from error
    document: Mapping[str, Any] = {}
    rows: list[Any]
    if text.lstrip()[:1] in ("{", "["):
        rows, document = _json(path, text)
    else:
        rows = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    prefill, decode = [], []
    for number, row in enumerate(rows, start=1):
        point = _point(path, number, row)
        if isinstance(point, PrefillPoint):
            prefill.append(point)
        else:
            decode.append(point)
    if not prefill and not decode:
        raise NoUsableInput(
            f"{path} holds no measured passes: rows of n, c, seconds for prefill, of b, ctx, seconds for "
            "decode."
        )
    setup = document.get("setup")
    named = {**(setup if isinstance(setup, dict) else {}), **document}
    device = _text(named.get("device_name")) or _text(named.get("device"))
    return Points(tuple(prefill), tuple(decode), _text(named.get("model")), device)


def _json(path: Path, text: str) -> tuple[list[Any], Mapping[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()], {}
        except ValueError as error:
            raise UsageError(f"{path} is neither JSON nor JSON lines nor CSV: {error}.") from error
    if isinstance(whole, list):
        return whole, {}
    inner = whole.get("points", whole)
    if isinstance(inner, list):
        return inner, whole
    if not isinstance(inner, dict):
        raise UsageError(f"{path}: points are a list of rows, or lists under prefill and decode.")
    if not {"prefill", "decode"} & inner.keys() and (set(_SECONDS) & inner.keys()):
        return [inner], {}
    return [*(inner.get("prefill") or ()), *(inner.get("decode") or ())], whole


def _point(path: Path, number: int, row: Any) -> PrefillPoint | DecodePoint:
    if not isinstance(row, Mapping):
        raise UsageError(f"{path}, row {number}: an object with n, c and seconds is needed.")
    values = dict(_numbers(path, number, row))
    seconds = next((values[name] * unit for name, unit in _SECONDS.items() if name in values), None)
    if seconds is None or seconds <= 0:
        raise UsageError(f"{path}, row {number}: seconds (or ms) above 0 are needed.")
    if "pairs" in values and "held" in values and (new := _first(values, _NEW)) is not None:
        return PrefillPoint(int(new), values["pairs"], int(values["held"]), seconds)
    batch, new = _first(values, _BATCH), _first(values, _NEW)
    if new and not batch:
        return prefill_point([(int(new), int(_first(values, _CACHED) or 0))], seconds)
    context = _first(values, _CONTEXT)
    if batch and context is not None and not new:
        return DecodePoint(int(batch), context, seconds)
    raise UsageError(
        f"{path}, row {number}: a prefill pass has n above 0 and c, a decode pass b above 0 and ctx; "
        f"found {', '.join(sorted(values)) or 'nothing'}."
    )


def _numbers(path: Path, number: int, row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if value is None or value == "" or name is None:
            continue
        try:
            found = float(value)
        except (TypeError, ValueError):
            # A column of words, such as one that names the phase.
            continue
        if not isfinite(found) or found < 0:
            raise UsageError(f"{path}, row {number}: {name} is {value}; counts and seconds are 0 or above.")
        yield name.strip().lower(), found


def _first(values: Mapping[str, float], names: tuple[str, ...]) -> float | None:
    return next((values[name] for name in names if name in values), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
