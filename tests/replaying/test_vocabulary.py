"""Ids for any vocabulary keep the prefix tree of the log."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radixadvisor.errors import UsageError
from radixadvisor.replaying.vocabulary import PrefixIds


def packed(tokens: list[int]) -> bytes:
    return array("i", tokens).tobytes()


def chunks(tokens: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(tokens[start : start + size]) for start in range(0, len(tokens), size)]


def common(first: list, second: list) -> int:  # type: ignore[type-arg]
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=20), min_size=2, max_size=12),
    st.integers(1, 4),
    st.integers(90, 120),
)
def test_common_prefixes_stay_common_and_nothing_else_becomes_so(
    prompts: list[list[int]], scale: int, vocab: int
) -> None:
    ids = PrefixIds(scale, vocab)
    written = [array("i", ids.encode(packed(prompt))).tolist() for prompt in prompts]
    for prompt, one in zip(prompts, written, strict=True):
        assert len(one) == -(-len(prompt) // scale)
        assert all(0 <= number < vocab for number in one)
        for other, two in zip(prompts, written, strict=True):
            assert common(one, two) == common(chunks(prompt, scale), chunks(other, scale))
    again = PrefixIds(scale, vocab)
    assert [array("i", again.encode(packed(prompt))).tolist() for prompt in prompts] == written


def test_siblings_fill_a_vocabulary_and_no_more() -> None:
    ids = PrefixIds(1, 8)
    firsts = {ids.encode(packed([token])) for token in range(8)}
    assert len(firsts) == 8
    with pytest.raises(UsageError, match="8 ids can tell apart"):
        ids.encode(packed([8]))
    assert ids.encode(packed([3])) in firsts
