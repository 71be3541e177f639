"""The unlimited measurement against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.measure.hits import reusable, reusable_partial, served, unlimited


def pack(tokens: list[int]) -> bytes:
    return np.array(tokens, np.int32).tobytes()


def common(a: list[int], b: list[int]) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


def best(tokens: list[int], earlier: list[list[int]]) -> int:
    return max((common(tokens, other) for other in earlier), default=0)


sequences = st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=24)


@settings(max_examples=500, deadline=None)
@given(sequences, st.data())
def test_unlimited_equals_brute_force(prompts: list[list[int]], data: st.DataObject) -> None:
    size = len(prompts)
    sessions = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    vocabularies = data.draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size))
    found = unlimited([pack(prompt) for prompt in prompts], sessions, vocabularies)
    for i, prompt in enumerate(prompts):
        earlier = [j for j in range(i) if vocabularies[j] == vocabularies[i]]
        assert found.matched[i] == best(prompt, [prompts[j] for j in earlier])
        same = [prompts[j] for j in earlier if sessions[j] == sessions[i]]
        other = [prompts[j] for j in earlier if sessions[j] != sessions[i]]
        assert found.same_session[i] == best(prompt, same)
        assert found.other_session[i] == best(prompt, other)
    assert found.unique == sum(map(len, prompts)) - found.matched.sum()
    found.tree.audit()


@settings(max_examples=300, deadline=None)
@given(sequences, st.data())
def test_pages_equal_a_cache_of_whole_pages(prompts: list[list[int]], data: st.DataObject) -> None:
    size = len(prompts)
    page = data.draw(st.sampled_from([1, 2, 3, 4]))
    outputs = data.draw(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=size, max_size=size))
    namespaces = data.draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size))
    cached = [p + o[:-1] for p, o in zip(prompts, outputs, strict=True)]
    found = served(
        reusable(map(pack, cached), namespaces), np.array([len(p) for p in prompts], np.int64), page
    )
    partial = reusable_partial(map(pack, cached), namespaces, page)
    for i, prompt in enumerate(prompts):
        stored = [
            cached[j][: len(cached[j]) // page * page] for j in range(i) if namespaces[j] == namespaces[i]
        ]
        limit = prompt[: max(len(prompt) - 1, 0)]
        assert found[i] == best(limit, stored) // page * page
        assert partial[i] == best(cached[i], stored)
