"""One order for lists whose items vary from prompt to prompt: tools, retrieved documents.

Three ways: by id; by how often an item occurs, the most frequent first; by a walk of the tree that always
branches on the item most of the lists at hand still hold. A way is chosen on one half of the log and judged
on the other, so that what it promises does not rest on having seen the lists before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = [
    "WAYS",
    "Canonical",
    "Sorter",
    "by_frequency",
    "by_id",
    "by_walk",
    "canonical_order",
    "tree_tokens",
]

List = Sequence[str]
Sorter = Callable[[List], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Canonical:
    """``way``: the one that the first half of the lists prefers (``as_written`` if none beats the order that
    they have). ``hits``: per way, tokens of the second half that an earlier list of it begins with, of
    ``tokens``.
    """

    way: str
    hits: dict[str, int]
    tokens: int


@dataclass(slots=True)
class _Walk:
    """A node of the tree: items in the order in which they were branched on."""

    children: dict[str, _Walk] = field(default_factory=dict)


def by_id(_: Sequence[List]) -> Sorter:
    """Items sorted by their id."""
    return lambda items: tuple(sorted(items))


def by_frequency(lists: Sequence[List]) -> Sorter:
    """The most frequent items first; ties, and items never seen, by id."""
    counts = Counter(item for items in lists for item in set(items))
    return lambda items: tuple(sorted(items, key=lambda item: (-counts[item], item)))


def by_walk(lists: Sequence[List]) -> Sorter:
    """From the root, always the branch of most lists; what no branch holds, by frequency."""
    root = _Walk()
    stack = [(root, [frozenset(items) for items in lists])]
    while stack:
        node, here = stack.pop()
        while here:
            counts = Counter(item for items in here for item in items)
            if not counts:
                break
            item = min(counts, key=lambda one: (-counts[one], one))
            below = [items - {item} for items in here if item in items]
            here = [items for items in here if item not in items]
            child = node.children[item] = _Walk()
            if len(below) > 1:
                stack.append((child, below))
    rest = by_frequency(lists)

    def walked(items: List) -> tuple[str, ...]:
        left, order, node = set(items), [], root
        while node is not None:
            found = next((item for item in node.children if item in left), None)
            if found is None:
                break
            order.append(found)
            left.remove(found)
            node = node.children[found]
        return (*order, *rest([item for item in items if item in left]))

    return walked


WAYS: dict[str, Callable[[Sequence[List]], Sorter]] = {
    "by_id": by_id,
    "by_frequency": by_frequency,
    "by_walk": by_walk,
}


def canonical_order(lists: Sequence[List], lengths: Mapping[str, int]) -> Canonical:
    """Choose a way on every other list, judge all of them on the rest.

    Args:
        lists: the items of each prompt as it has them, in order of arrival, none twice in a list.
        lengths: tokens of each item.
    """
    learned, judged = lists[::2], lists[1::2]
    ways: dict[str, Sorter] = {"as_written": tuple}
    ways |= {name: way(learned) for name, way in WAYS.items()}
    on_learned = {name: tree_tokens(map(way, learned), lengths) for name, way in ways.items()}
    tokens = sum(lengths[item] for items in judged for item in items)
    return Canonical(
        way=min(ways, key=lambda name: on_learned[name]),
        hits={name: tokens - tree_tokens(map(way, judged), lengths) for name, way in ways.items()},
        tokens=tokens,
    )


def tree_tokens(lists: Iterable[List], lengths: Mapping[str, int]) -> int:
    """The tokens of the tree that lists form: what an unlimited cache computes of them."""
    known: dict[tuple[int, str], int] = {}
    tokens = 0
    for items in lists:
        node = 0
        for item in items:
            child = known.get((node, item))
            if child is None:
                child = known[(node, item)] = len(known) + 1
                tokens += lengths[item]
            node = child
    return tokens
