"""Who left a prefix, held to a search over all earlier sequences."""

from __future__ import annotations

import random
from array import array

import pytest

from radixadvisor.measure.partners import partners
from radixadvisor.measure.walks import walk


def pack(tokens: list[int]) -> bytes:
    return array("i", tokens).tobytes()


def common(first: list[int], second: list[int]) -> int:
    size = 0
    while size < min(len(first), len(second)) and first[size] == second[size]:
        size += 1
    return size


@pytest.mark.parametrize("seed", range(30))
def test_the_latest_of_those_with_the_longest_prefix(seed: int) -> None:
    rng = random.Random(seed)
    prompts: list[list[int]] = []
    outputs: list[list[int]] = []
    for _ in range(40):
        grown = prompts[rng.randrange(len(prompts))][: rng.randint(0, 9)] if prompts else []
        prompts.append([*grown, *(rng.randrange(3) for _ in range(rng.randint(1, 6)))])
        outputs.append([rng.randrange(3) for _ in range(rng.randint(0, 3))])
    groups = [rng.randrange(2) for _ in prompts]
    walks = walk(map(pack, prompts), list(map(pack, outputs)))
    for given in (None, groups):
        found = partners(walks, given).tolist()
        for position, prompt in enumerate(prompts):
            shared = [
                (common(prompt, prompts[other] + outputs[other]), other)
                for other in range(position)
                if given is None or given[other] == given[position]
            ]
            best = max(shared, default=(0, -1))
            assert found[position] == (best[1] if best[0] else -1), (given, position)
