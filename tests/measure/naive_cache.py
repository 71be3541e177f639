"""A prefix cache of single positions, written down slowly: the oracle of the capacity tests.

An item is a whole prefix (bytes); its position is its last token. Requests are served one at a time and held
whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations


def items(prompt: bytes) -> list[bytes]:
    """The positions of a prompt, root first."""
    return [prompt[:end] for end in range(4, len(prompt) + 1, 4)]


def leading(path: list[bytes], resident: frozenset[bytes] | dict[bytes, int]) -> int:
    """Positions served: the leading run that is resident."""
    return next((depth for depth, item in enumerate(path) if item not in resident), len(path))


def leaf_lru(prompts: Sequence[bytes], capacity: int) -> list[int]:
    """Positions served to each request by a cache that evicts its least recently used leaf."""
    stamps: dict[bytes, int] = {}
    children: Counter[bytes] = Counter()
    clock, served = 0, []
    for prompt in prompts:
        path = items(prompt)
        served.append(leading(path, stamps))
        held = set(path)
        missing = [item for item in path if item not in stamps]
        while len(stamps) + len(missing) > capacity:
            leaves = [item for item in stamps if not children[item] and item not in held]
            victim = min(leaves, key=stamps.__getitem__)
            del stamps[victim]
            children[victim[:-4]] -= 1
        for item in missing:
            children[item[:-4]] += 1
        for item in reversed(path):
            clock += 1
            stamps[item] = clock
    return served


def plain_lru(prompts: Sequence[bytes], capacity: int) -> int:
    """Positions served by plain LRU over items touched leaf first, whatever the capacity."""
    recency: list[bytes] = []
    served = 0
    for prompt in prompts:
        path = items(prompt)
        kept = set(recency[-capacity:]) if capacity else set()
        served += sum(item in kept for item in path)
        recency = [item for item in recency if item not in path] + path[::-1]
    return served


def best_eviction(prompts: Sequence[bytes], capacity: int) -> int:
    """Positions served by the best of all eviction decisions, by trying them all."""
    paths = [items(prompt) for prompt in prompts]

    @cache
    def best(index: int, resident: frozenset[bytes]) -> int:
        if index == len(paths):
            return 0
        path = frozenset(paths[index])
        excess = len(resident | path) - capacity
        here = leading(paths[index], resident)
        if excess <= 0:
            return here + best(index + 1, resident | path)
        victims = combinations(sorted(resident - path), excess)
        return here + max(best(index + 1, (resident | path) - set(gone)) for gone in victims)

    return best(0, frozenset())
