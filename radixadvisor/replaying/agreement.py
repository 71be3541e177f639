"""Whether a cache changes what a model says: greedy tokens with it against those without."""

from __future__ import annotations

from array import array
from math import isnan
from typing import TYPE_CHECKING

from radixadvisor.replaying.results import Agreement, Difference

if TYPE_CHECKING:
    from radixengine.results import EngineRun

__all__ = ["TOLERANCES", "agreement"]

TOLERANCES = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""Logit gaps up to which the order of additions may decide between two tokens, by precision."""


def agreement(without: EngineRun, with_cache: EngineRun, tolerance: float) -> Agreement:
    """Compare each request that both runs finished, up to where its tokens part; behind that place the two
    continue different texts.
    """
    ended = {record.rid for record in without.records if not isnan(record.finished)}
    compared = 0
    found = []
    for record in with_cache.records:
        if isnan(record.finished) or record.rid not in ended:
            continue
        compared += 1
        difference = _difference(record.rid, without, with_cache)
        if difference is not None:
            found.append(difference)
    return Agreement(compared, tolerance, tuple(found))


def _difference(rid: int, without: EngineRun, with_cache: EngineRun) -> Difference | None:
    """The first differing token. An output that a full pool cut short is compared as far as it goes."""
    expected = array("i", without.outputs.get(rid, b""))
    given = array("i", with_cache.outputs.get(rid, b""))
    for position, (a, b) in enumerate(zip(expected, given, strict=False)):
        if a != b:
            gaps = float(without.gaps[rid][position]), float(with_cache.gaps[rid][position])
            gap = max(gaps, key=lambda value: (isnan(value), value))
            return Difference(rid, position, a, b, gap)
    return None
