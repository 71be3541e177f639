"""The heaviest branches of small trees."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.measure.branches import SharedBranch, heaviest
from radixadvisor.measure.walks import Walks, walk


def walks_of(prompts: list[list[int]]) -> Walks:
    return walk([np.array(prompt, np.int32).tobytes() for prompt in prompts], [b""] * len(prompts))


def branches_of(prompts: list[list[int]], count: int) -> list[SharedBranch]:
    walks = walks_of(prompts)
    return heaviest(walks.tree, walks.passes(), count)


def test_shared_stretches_are_found_with_their_requests() -> None:
    system, other = list(range(100)), list(range(200, 230))
    prompts = [[*system, *other, 1000 + i] for i in range(4)] + [[*system, 2000 + i] for i in range(6)]
    first, second = branches_of(prompts, 5)
    assert (first.tokens, first.requests, first.saved, first.parent) == (100, 10, 900, -1)
    assert (second.tokens, second.requests, second.saved, second.parent) == (30, 4, 90, 0)
    assert second.depth == 130 == len(second.key) // 4


def test_what_one_request_alone_passes_is_no_branch() -> None:
    assert branches_of([[1, 2, 3], [4, 5]], 5) == []


def test_a_chain_far_deeper_than_the_stack_is_walked() -> None:
    prompts = [list(range(length)) for length in range(1, 2000)]
    assert branches_of(prompts, 3)[0].depth > 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=24), st.integers(1, 30))
def test_no_saved_token_is_counted_twice(prompts: list[list[int]], count: int) -> None:
    branches = branches_of(prompts, count)
    hits = sum(map(len, prompts)) - walks_of(prompts).tree.tokens
    assert sum(branch.saved for branch in branches) <= hits
    for index, branch in enumerate(branches):
        assert branch.parent < index
        if branch.parent >= 0:
            above = branches[branch.parent]
            assert branch.key.startswith(above.key)
            assert branch.depth == above.depth + branch.tokens
