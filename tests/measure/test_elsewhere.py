"""Runs seen earlier at another offset, against a brute-force set of windows."""

from __future__ import annotations

import random
from array import array

import numpy as np
import pytest
from radixengine.tree import RadixTree

from radixadvisor.measure import elsewhere
from radixadvisor.measure.elsewhere import RUN, Runs, covered_elsewhere


def _pack(tokens: list[int]) -> bytes:
    return array("i", tokens).tobytes()


def _matched(prompts: list[bytes], names: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    tree = RadixTree()
    return np.array([tree.match_insert(*pair) for pair in zip(prompts, names, strict=True)], np.int64)


def _brute(prompts: list[list[int]], names: list[str], matched: list[int]) -> list[int]:
    seen: set[tuple[str, tuple[int, ...]]] = set()
    counts = []
    for tokens, name, prefix in zip(prompts, names, matched, strict=True):
        windows = [(name, tuple(tokens[at : at + RUN])) for at in range(len(tokens) - RUN + 1)]
        covered: set[int] = set()
        for at, window in enumerate(windows):
            if window in seen:
                covered.update(range(at, at + RUN))
        counts.append(sum(at >= prefix for at in covered))
        seen.update(windows)
    return counts


@pytest.mark.parametrize("seed", range(40))
def test_counts_equal_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "_BATCH_TOKENS", 500)
    rng = random.Random(seed)
    sizes = [5, 20, 31, 32, 33, 60, 100, rng.randint(30, 90)]
    parts = [[rng.randrange(50_000) for _ in range(size)] for size in sizes]
    prompts, names = [], []
    for _ in range(40):
        chosen = [rng.choice(parts)[rng.randint(0, 3) :] for _ in range(rng.randint(0, 5))]
        noise = [rng.randrange(50_000) for _ in range(rng.randint(0, 40))]
        prompts.append([token for part in chosen for token in part] + noise)
        names.append(rng.choice(["", "", "qwen"]))
    packed = [_pack(tokens) for tokens in prompts]
    matched = _matched(packed, names)
    counts = covered_elsewhere(packed, matched, names)
    assert counts.tolist() == _brute(prompts, names, matched.tolist())
    assert counts.sum() > 0


def _known(prompts: list[list[tuple[int, list[int]]]], names: list[str], rng: random.Random) -> Runs:
    """Some of the parts, and of the pairs of neighbours, that an earlier prompt of the same name has."""
    seen: set[tuple[str, tuple[int, ...]]] = set()
    rows = []
    for request, (parts, name) in enumerate(zip(prompts, names, strict=True)):
        numbers = [number for number, _ in parts]
        ends = np.cumsum([0] + [len(tokens) for _, tokens in parts]).tolist()
        spans = [(at, at + size) for size in (1, 2) for at in range(len(parts) - size + 1)]
        for first, last in spans:
            if (name, tuple(numbers[first:last])) in seen and rng.random() < 0.8:
                rows.append((request, ends[first], ends[last]))
        seen |= {(name, tuple(numbers[first:last])) for first, last in spans}
    return Runs(*np.array(sorted(rows), np.int64).reshape(-1, 3).T)


@pytest.mark.parametrize("seed", range(40))
def test_known_runs_change_no_count(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "_BATCH_TOKENS", 500)
    rng = random.Random(seed)
    pool = [[rng.randrange(50_000) for _ in range(rng.randint(1, 90))] for _ in range(8)]
    prompts = []
    for _ in range(50):
        chosen = [(number, pool[number]) for number in rng.choices(range(8), k=rng.randint(0, 6))]
        for _ in range(rng.randint(0, 2)):
            noise = [rng.randrange(50_000) for _ in range(rng.randint(0, 50))]
            chosen.insert(rng.randint(0, len(chosen)), (8 + rng.randrange(10**9), noise))
        prompts.append(chosen)
    names = [rng.choice(["", "", "qwen"]) for _ in prompts]
    tokens = [[token for _, part in parts for token in part] for parts in prompts]
    packed = [_pack(prompt) for prompt in tokens]
    matched = _matched(packed, names)
    known = _known(prompts, names, rng)
    counts = covered_elsewhere(packed, matched, names, known_runs=known)
    assert counts.tolist() == _brute(tokens, names, matched.tolist())
    assert len(known.starts)
    assert counts.sum() > 0


def test_low_entropy_prompts_equal_brute_force() -> None:
    rng = random.Random(3)
    prompts = [[rng.randrange(2)] * rng.randint(0, 70) + [1, 0] * rng.randint(0, 40) for _ in range(60)]
    packed = [_pack(tokens) for tokens in prompts]
    names = [""] * len(packed)
    matched = _matched(packed, names)
    assert covered_elsewhere(packed, matched).tolist() == _brute(prompts, names, matched.tolist())


def test_a_moved_section_is_covered_and_a_run_of_31_is_not() -> None:
    section = list(range(1000, 1040))
    first, moved = _pack([1, *section]), _pack([2, 3, *section, 4])
    assert covered_elsewhere([first, moved], np.array([0, 0])).tolist() == [0, 40]
    assert covered_elsewhere([first, _pack([2, *section[:31], 4])], np.array([0, 0])).tolist() == [0, 0]


def test_repetition_inside_one_prompt_does_not_count() -> None:
    section = list(range(1000, 1040))
    assert covered_elsewhere([_pack(section * 3)], np.array([0])).tolist() == [0]


def test_hashes_that_differ_in_low_bits_only_are_told_apart() -> None:
    high = [5 << 40, 9 << 40, 5 << 40, 5 << 40 | 1, 7 << 40, 5 << 40, 5 << 40 | 1]
    indices = elsewhere._repeated(np.array(high, np.uint64))
    assert indices.tolist() == [0, 2, 5, 3, 6]


def test_nothing_to_look_at() -> None:
    assert covered_elsewhere([], np.zeros(0, np.int64)).tolist() == []
    assert covered_elsewhere([_pack([1, 2])] * 2, np.array([0, 2])).tolist() == [0, 0]
