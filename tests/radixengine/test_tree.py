"""The radix tree against brute force."""

from __future__ import annotations

from array import array
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radixengine.tree import RadixTree, TreeError

PAGES = (1, 16, 64)


def pack(tokens: list[int]) -> bytes:
    return array("i", tokens).tobytes()


def letters(text: str) -> bytes:
    return pack([ord(letter) for letter in text])


def common(a: list[int], b: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


@st.composite
def traces(draw: st.DrawFn) -> list[tuple[str, list[int]]]:
    """Requests that extend, cut and branch off earlier ones, in units that meet and miss the page bounds."""
    requests: list[tuple[str, list[int]]] = []
    for _ in range(draw(st.integers(1, 12))):
        base = draw(st.sampled_from(requests))[1] if requests and draw(st.booleans()) else []
        cut = draw(st.integers(0, len(base)))
        run = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 70)), max_size=3))
        tail = [token for token, length in run for _ in range(length)]
        requests.append((draw(st.sampled_from(["", "other"])), base[:cut] + tail))
    return requests


@given(traces(), st.sampled_from(PAGES))
@settings(max_examples=150, deadline=None)
def test_unlimited_hits_are_the_longest_common_prefix(
    requests: list[tuple[str, list[int]]], page: int
) -> None:
    tree = RadixTree(page)
    earlier: list[tuple[str, list[int]]] = []
    hits = 0
    for namespace, tokens in requests:
        best = max((common(tokens, old) for name, old in earlier if name == namespace), default=0)
        floor = len(tokens) // page * page
        expected = min(best, floor) // page * page
        assert tree.peek(pack(tokens), None, namespace) == (expected, expected)
        assert tree.match_insert(pack(tokens), namespace) == expected
        hits += expected
        # Only what was stored can be found again: earlier requests count up to their last whole page.
        earlier.append((namespace, tokens[:floor]))
        tree.audit()
    assert hits == sum(len(tokens) // page * page for _, tokens in requests) - tree.tokens


@given(traces(), st.sampled_from(PAGES))
@settings(max_examples=100, deadline=None)
def test_nodes_count_the_requests_that_passed(requests: list[tuple[str, list[int]]], page: int) -> None:
    tree = RadixTree(page)
    for namespace, tokens in requests:
        tree.match_insert(pack(tokens), namespace)
    for namespace, node, depth in tree.walk():
        path = b"".join(step.edge for step in tree.path(node))
        assert len(path) == (depth + node.tokens) * 4
        assert node.hits == sum(
            name == namespace and pack(tokens).startswith(path) for name, tokens in requests
        )


@given(traces(), st.sampled_from(PAGES), st.data())
@settings(max_examples=100, deadline=None)
def test_engine_lookup_finds_what_peek_finds_and_ends_on_a_node(
    requests: list[tuple[str, list[int]]], page: int, data: st.DataObject
) -> None:
    tree = RadixTree(page)
    locked = []
    for namespace, tokens in requests:
        key = pack(tokens)
        limit = data.draw(st.integers(0, len(tokens)))
        before = [(node.edge, node.stamp, node.hits) for _, node, _ in tree.walk()]
        expected = tree.peek(key, limit, namespace)
        assert [(node.edge, node.stamp, node.hits) for _, node, _ in tree.walk()] == before
        found = tree.match(key, limit, namespace)
        assert (found.tokens, found.deepest_tokens) == expected
        assert b"".join(step.edge for step in tree.path(found.node)) == key[: found.tokens * 4]
        tree.lock(found.node)
        floor = len(tokens) // page * page
        known = tree.peek(key, None, namespace)[0]
        node, stored = tree.insert(found.node, key, found.tokens, floor)
        assert stored == floor - known
        tree.lock(node, found.node)
        tree.audit()
        if data.draw(st.booleans()):
            tree.unlock(node)
        else:
            locked.append(node)
    for node in locked:
        tree.unlock(node)
    tree.audit()
    assert tree.protected == 0


def test_a_split_keeps_counters_on_both_halves() -> None:
    tree = RadixTree()
    root = tree.root()
    key = letters("ABCD")
    node, _ = tree.insert(root, key, 0, 4, priority=7)
    tree.lock(node)
    created = node.created
    found = tree.match(letters("ABX"))
    assert found.tokens == 2
    upper, lower = tree.path(node)
    assert upper is found.node
    assert lower is node
    assert (upper.lock, upper.hits, upper.priority, upper.created) == (1, 1, 7, created)
    assert (lower.lock, lower.hits, lower.priority, lower.created) == (1, 1, 7, created)
    assert lower.stamp == upper.stamp == tree.clock
    tree.insert(upper, letters("ABX"), 2, 3)
    assert (upper.hits, lower.hits) == (2, 1)


def test_without_inheritance_or_refresh_a_split_stamps_the_upper_half_only() -> None:
    tree = RadixTree(refresh_tail=False, inherit_creation=False)
    node, _ = tree.insert(tree.root(), letters("ABCD"), 0, 4)
    stamp = node.stamp
    upper = tree.match(letters("AB")).node
    assert node.stamp == node.created == stamp
    assert upper.stamp == upper.created == tree.clock > stamp


def test_namespaces_never_share() -> None:
    tree = RadixTree()
    assert tree.match_insert(letters("ABC"), "a") == 0
    assert tree.match_insert(letters("ABC"), "b") == 0
    assert tree.match_insert(letters("ABC"), "a") == 3
    assert tree.peek(letters("ABC"), None, "never seen") == (0, 0)
    assert set(tree.roots) == {"a", "b"}


def test_leaves_are_released_when_unlocked_and_childless() -> None:
    tree = RadixTree()
    released = []
    tree.on_release = released.append
    upper, _ = tree.insert(tree.root(), letters("AB"), 0, 2)
    lower, _ = tree.insert(upper, letters("ABC"), 2, 3)
    tree.lock(lower)
    tree.unlock(lower)
    assert released == [lower]
    tree.remove(lower)
    assert released == [lower, upper]
    tree.remove(upper)
    assert (tree.tokens, tree.nodes) == (0, 0)
    tree.audit()


def test_trim_drops_whole_pages_of_a_leaf() -> None:
    tree = RadixTree(2)
    leaf, _ = tree.insert(tree.root(), letters("ABCDEF"), 0, 6)
    tree.trim(leaf, 4)
    assert leaf.edge == letters("AB")
    assert tree.tokens == 2
    tree.audit()
    for tokens in (1, 2):
        with pytest.raises(TreeError):
            tree.trim(leaf, tokens)


def test_misuse_is_an_error() -> None:
    tree = RadixTree()
    upper, _ = tree.insert(tree.root(), letters("AB"), 0, 2)
    lower, _ = tree.insert(upper, letters("ABC"), 2, 3)
    with pytest.raises(TreeError):
        tree.unlock(lower)
    with pytest.raises(TreeError):
        tree.remove(upper)
    with pytest.raises(TreeError):
        tree.demote(lower)
    with pytest.raises(TreeError):
        tree.restore(lower)
    tree.lock(lower)
    with pytest.raises(TreeError):
        tree.remove(lower)
    with pytest.raises(TreeError):
        tree.remove(tree.root())
    with pytest.raises(ValueError, match="page size"):
        RadixTree(0)


def test_audit_notices_damage() -> None:
    def tree() -> RadixTree:
        made = RadixTree()
        upper, _ = made.insert(made.root(), letters("AB"), 0, 2)
        made.insert(upper, letters("ABC"), 2, 3)
        made.audit()
        return made

    for damage in ("edge", "parent", "live", "lock", "hits", "resident", "priority", "stamp"):
        broken = tree()
        leaf = next(broken.leaves())
        if damage == "edge":
            leaf.edge = letters("D")
        elif damage == "parent":
            leaf.parent = broken.root()
        elif damage == "live":
            leaf.live = 1
        elif damage == "resident":
            leaf.resident = False
        else:
            setattr(leaf, damage, 99)
        with pytest.raises(TreeError):
            broken.audit()
    for counter in ("nodes", "evictable", "protected"):
        broken = tree()
        setattr(broken, counter, 99)
        with pytest.raises(TreeError):
            broken.audit()


def test_the_shared_sentinel_of_childless_nodes_stays_empty() -> None:
    tree = RadixTree()
    tree.match_insert(letters("ABC"))
    tree.match_insert(letters("ABD"))
    assert all(not leaf.children for leaf in tree.leaves())
    assert sum(1 for _ in tree.leaves()) == 2
