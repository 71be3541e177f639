"""The unlimited measurements against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.measure.hits import (
    matches,
    prompt_matches,
    served,
    session_matches,
    visible_matches,
)
from radixadvisor.measure.walks import Walks, walk

Tokens = list[int]


def pack(tokens: Tokens) -> bytes:
    return np.array(tokens, np.int32).tobytes()


def best(tokens: Tokens, earlier: Iterable[Tokens]) -> int:
    """The longest common prefix with any of the earlier sequences, token by token."""
    longest = 0
    for other in earlier:
        length = 0
        while length < min(len(tokens), len(other)) and tokens[length] == other[length]:
            length += 1
        longest = max(longest, length)
    return longest


def walks_of(prompts: list[Tokens], outputs: list[Tokens], names: list[str] | None = None) -> Walks:
    return walk([pack(prompt) for prompt in prompts], [pack(output) for output in outputs], names)


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Tokens], list[Tokens], Callable[[int, int], list[int]]]:
    prompts = draw(st.lists(st.lists(st.integers(0, 2), max_size=10), max_size=20))
    size = len(prompts)
    outputs = draw(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=size, max_size=size))
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=2 * size, max_size=2 * size))
    return prompts, outputs, lambda column, span: [number % span for number in numbers[column::2]]


@settings(max_examples=500, deadline=None)
@given(logs())
def test_prompts_and_sessions_equal_brute_force(log) -> None:  # type: ignore[no-untyped-def]
    prompts, outputs, numbers = log
    sessions, names = numbers(0, 3), [str(number) for number in numbers(1, 2)]
    walks = walks_of(prompts, outputs, names)
    same, other = session_matches(walks, sessions)
    found = prompt_matches(walks)
    for i, prompt in enumerate(prompts):
        earlier = [j for j in range(i) if names[j] == names[i]]
        assert found[i] == best(prompt, (prompts[j] for j in earlier))
        assert same[i] == best(prompt, (prompts[j] for j in earlier if sessions[j] == sessions[i]))
        assert other[i] == best(prompt, (prompts[j] for j in earlier if sessions[j] != sessions[i]))
    walks.tree.audit()


@settings(max_examples=200, deadline=None)
@given(logs(), st.sampled_from([1, 2, 3, 4]))
def test_pages_and_groups_equal_caches_of_whole_pages(log, page: int) -> None:  # type: ignore[no-untyped-def]
    prompts, outputs, numbers = log
    groups = numbers(0, 2)
    walks = walks_of(prompts, outputs)
    whole = served(matches(walks, groups), walks.lengths, page)
    bare = prompt_matches(walks, groups)
    for i, prompt in enumerate(prompts):
        earlier = [prompts[j] + outputs[j] for j in range(i) if groups[j] == groups[i]]
        assert bare[i] == best(prompt, (prompts[j] for j in range(i) if groups[j] == groups[i]))
        stored = [sequence[: len(sequence) // page * page] for sequence in earlier]
        assert whole[i] == best(prompt[: max(len(prompt) - 1, 0)], stored) // page * page


@settings(max_examples=200, deadline=None)
@given(logs())
def test_only_finished_work_is_visible(log) -> None:  # type: ignore[no-untyped-def]
    prompts, outputs, numbers = log
    arrivals = np.sort(np.array(numbers(0, 6), np.float64))
    first_tokens = arrivals + np.array(numbers(1, 3), np.float64)
    ends = first_tokens + 1
    found = visible_matches(walks_of(prompts, outputs), arrivals, first_tokens, ends)
    for i, prompt in enumerate(prompts):
        ready = [prompts[j] for j in range(i) if first_tokens[j] <= arrivals[i]]
        ready += [prompts[j] + outputs[j] for j in range(i) if ends[j] <= arrivals[i]]
        assert found[i] == best(prompt, ready)


def test_every_prompt_alone_matches_nothing() -> None:
    walks = walks_of([[1, 2], [3], []], [[], [], []])
    assert matches(walks).tolist() == [0, 0, 0]
    assert walks.passes() == dict.fromkeys(walks.nodes, 1)
