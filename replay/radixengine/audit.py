"""Invariants of the radix tree, checked by counting everything again."""

from __future__ import annotations

from radixengine.tree import Node, RadixTree, TreeError


def audit(tree: RadixTree) -> None:
    """Raise TreeError for the first invariant that does not hold."""
    nodes = evictable = protected = 0
    for root in tree.roots.values():
        _require(
            root.parent is None and not root.edge and not root.lock, "a root has a parent, an edge or a lock"
        )
        _check_children(tree, root)
    for _, node, _ in tree.walk():
        nodes += 1
        _check_node(tree, node)
        _check_children(tree, node)
        if node.resident and node.lock:
            protected += node.tokens
        elif node.resident:
            evictable += node.tokens
    _require(nodes == tree.nodes, f"{nodes} nodes in the tree, {tree.nodes} counted")
    _require(evictable == tree.evictable, f"{evictable} tokens evictable, {tree.evictable} counted")
    _require(protected == tree.protected, f"{protected} tokens protected, {tree.protected} counted")


def _check_node(tree: RadixTree, node: Node) -> None:
    parent = node.parent
    _require(parent is not None, "a node in the tree has no parent")
    assert parent is not None
    _require(bool(node.edge) and len(node.edge) % tree.unit == 0, "an edge is empty or not whole pages")
    _require(node.resident or node.backed, "a node is on no tier")
    _require(
        node.slots is None or (node.resident and len(node.slots) == node.tokens), "slots do not fit the edge"
    )
    if parent.parent is not None:
        _require(parent.resident or not node.resident, "a resident node hangs below one that is not")
        _require(parent.priority >= node.priority, "a node outranks its parent")
        _require(parent.stamp + 1 >= node.stamp, "a node was used after its parent")


def _check_children(tree: RadixTree, node: Node) -> None:
    children = node.children
    for key, child in children.items():
        _require(child.parent is node, "a child has another parent")
        _require(child.edge[: tree.unit] == key, "a child hangs under another page than its own")
    _require(node.live == sum(child.resident for child in children.values()), "resident children miscounted")
    if node.parent is not None:
        _require(
            node.lock >= sum(child.lock for child in children.values()), "children are locked more often"
        )
        _require(node.hits >= sum(child.hits for child in children.values()), "children are hit more often")


def _require(holds: bool, broken: str) -> None:
    if not holds:
        raise TreeError(broken)
