"""Greedy tokens with the cache on against those without."""

from __future__ import annotations

from array import array
from math import nan

import numpy as np
from radixengine.jobs import Record
from radixengine.results import EngineRun, PoolPeaks

from radixadvisor.replaying.agreement import agreement


def run(
    outputs: dict[int, list[int]], gap: float = 0.5, unfinished: frozenset[int] = frozenset()
) -> EngineRun:
    records = [Record(rid, 5, 0.0, finished=nan if rid in unfinished else 1.0) for rid in outputs]
    return EngineRun(
        records=tuple(records),
        outputs={rid: array("i", tokens).tobytes() for rid, tokens in outputs.items()},
        gaps={rid: np.full(len(tokens), gap, np.float32) for rid, tokens in outputs.items()},
        token_times={},
        seconds=1.0,
        prefill_seconds=0.5,
        decode_seconds=0.5,
        prefill_tokens=5,
        decode_tokens=5,
        request_prefill={},
        peaks=PoolPeaks(100),
        evicted_tokens=0,
        retractions=0,
        loaded_tokens=0,
        load_seconds=0.0,
        schedule=(),
        complete=not unfinished,
        threads=1,
        backend="sdpa",
    )


def test_equal_tokens_agree() -> None:
    found = agreement(run({1: [4, 5], 2: [6]}), run({1: [4, 5], 2: [6]}), 0.0)
    assert (found.compared, found.differences) == (2, ())


def test_the_first_difference_counts_with_the_larger_gap() -> None:
    found = agreement(run({1: [4, 5, 6]}, gap=0.1), run({1: [4, 7, 8]}, gap=0.3), 0.2)
    (one,) = found.differences
    assert (one.rid, one.position, one.without_cache, one.with_cache) == (1, 1, 5, 7)
    assert abs(one.gap - 0.3) < 1e-6
    assert found.failures == (one,)
    assert agreement(run({1: [4]}, gap=0.1), run({1: [5]}, gap=0.1), 0.2).failures == ()


def test_a_gap_that_is_no_number_is_no_tie() -> None:
    found = agreement(run({1: [4]}, gap=nan), run({1: [5]}, gap=nan), 1e9)
    assert len(found.failures) == 1


def test_only_requests_that_both_finished_are_compared() -> None:
    found = agreement(run({1: [4], 2: [5]}), run({1: [9], 2: [5]}, unfinished=frozenset({1})), 0.0)
    assert (found.compared, found.differences) == (1, ())
