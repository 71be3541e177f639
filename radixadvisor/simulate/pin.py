"""Which branches to keep resident: those passed by most requests, as many as a budget of tokens allows."""

from __future__ import annotations

from radixengine.cache import TOKEN_BYTES
from radixengine.nodes import Node
from radixengine.tree import RadixTree

from radixadvisor.simulate.requests import Requests

__all__ = ["heaviest_prefixes"]


def heaviest_prefixes(requests: Requests, budget: int, page: int) -> list[tuple[str, bytes]]:
    """(namespace, packed prefix) of the branches to pin, at most ``budget`` tokens of whole pages in all.

    Every token of the prefix tree saves one computation for each request after the first that passes it, so
    the tokens passed most often are taken first. A token is never passed more often than one before it,
    hence what is taken are whole prefixes. Branches that only one request passes are left out.
    """
    tree = RadixTree(page)
    for index, prompt in requests.ordered():
        tree.match_insert(prompt, requests.namespace(index))
    shared = [(namespace, node, depth) for namespace, node, depth in tree.walk() if node.hits > 1]
    shared.sort(key=lambda entry: (-entry[1].hits, entry[2]))
    ends: dict[Node, tuple[str, int]] = {}
    left = budget // page * page
    for namespace, node, _ in shared:
        if not left:
            break
        taken = min(node.tokens, left)
        left -= taken
        if node.parent is not None:
            ends.pop(node.parent, None)
        ends[node] = (namespace, taken)
    prefixes = []
    for node, (namespace, taken) in ends.items():
        *above, last = tree.path(node)
        prefixes.append((namespace, b"".join(step.edge for step in above) + last.edge[: taken * TOKEN_BYTES]))
    return prefixes
