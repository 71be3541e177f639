from __future__ import annotations

from math import inf

import pytest
from radixengine.cache import Sequence
from radixengine.executor import Batch, Chunk

from radixadvisor.simulate.cost import LinearCost

COST = LinearCost(step=0.5, prefill=0.25, decode=0.125)


def test_a_pass_costs_its_step_its_new_tokens_and_its_decoding_sequences() -> None:
    seqs = tuple(Sequence(rid, b"") for rid in range(4))
    assert COST.run(Batch((Chunk(seqs[0], 10, 6, True),), seqs[1:])).seconds == 0.5 + 1.5 + 0.375
    assert COST.run(Batch((), seqs, steps=10)).seconds == 10.0


@pytest.mark.parametrize(
    ("seconds", "passes"), [(0.0, 1), (0.5, 1), (1.0, 1), (1.001, 2), (2.0, 2), (1e9, 10), (inf, 10)]
)
def test_looking_ahead_counts_the_passes_that_begin_before_an_arrival(seconds: float, passes: int) -> None:
    batch = Batch((), tuple(Sequence(rid, b"") for rid in range(4)), steps=10)
    assert COST.lookahead(batch, seconds) == passes
