"""Who owns which slots: what a running sequence holds, and every move between pool, sequence and tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from radixengine.nodes import Node
from radixengine.pool import PoolError, SlotPool, TokenPool
from radixengine.table import RequestTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Holding:
    """A sequence's share: a lock on the path to ``locked``, and ``held`` tokens of pages behind ``cached``.

    ``node`` is where its part of the tree ends, ``cached`` tokens deep. ``locked`` is deeper while ``host``
    tokens wait to be loaded back. ``taken`` counts the tokens that have a slot; ``counted``: the tree has
    counted its hits.
    """

    node: Node
    locked: Node
    cached: int
    host: int
    taken: int
    held: int = 0
    counted: bool = False
    row: int | None = None

    @property
    def room(self) -> int:
        """Tokens that still fit into the pages it has."""
        return self.cached + self.held - self.taken


class Ledger:
    """The pool, and the tokens that running sequences hold outside the tree.

    With a request table, slot numbers move along with the counts.
    """

    __slots__ = ("_slots", "held", "pool", "table")

    def __init__(self, capacity: int, page_size: int, table: RequestTable | None) -> None:
        self.table = table
        self._slots = None if table is None else SlotPool(capacity, page_size)
        self.pool: TokenPool = self._slots or TokenPool(capacity, page_size)
        self.held = 0

    def admit(self, holding: Holding) -> bool:
        """Give the sequence a table row that starts with its matched slots; False if no row is free."""
        if self.table is None or holding.row is not None:
            return True
        holding.row = self.table.acquire()
        if holding.row is None:
            return False
        self.table.write(holding.row, 0, _slots_between(None, holding.node))
        return True

    def take(self, holding: Holding, tokens: int) -> None:
        """Move whole pages from the pool to the sequence."""
        if self._slots is None:
            self.pool.take(tokens)
        else:
            table, row = self._row(holding)
            table.write(row, holding.cached + holding.held, self._slots.take_slots(tokens))
        holding.held += tokens
        self.held += tokens

    def take_for_node(self, node: Node) -> NDArray[Any] | None:
        """Move a node's worth of tokens from the pool to the tree."""
        if self._slots is not None:
            return self._slots.take_slots(node.tokens)
        self.pool.take(node.tokens)
        return None

    def rows(self, holding: Holding, start: int, stop: int) -> NDArray[Any] | None:
        """The sequence's slots at positions ``start:stop``, None if slots are only counted."""
        if self._slots is None:
            return None
        table, row = self._row(holding)
        return table.read(row, start, stop)

    def hand_over(self, holding: Holding, node: Node, stop: int, stored: int) -> None:
        """The tree now covers the sequence up to ``stop``, ending in ``node``; it took ``stored`` new tokens.

        The rest duplicates what the tree had: it goes back to the pool, and the row points at the tree's.
        """
        handed = stop - holding.cached
        if self._slots is None:
            self.pool.give(handed - stored)
        elif handed:
            mine = self.rows(holding, holding.cached, stop)
            assert mine is not None
            kept = _slots_between(holding.node, node)
            spare = mine[mine != kept]
            if len(spare) != handed - stored:
                raise PoolError(f"{len(spare)} duplicate slots, {handed - stored} counted")
            self._slots.give_slots(spare)
            mine[:] = kept
        holding.held -= handed
        self.held -= handed
        holding.node = node
        holding.cached = stop

    def give_rest(self, holding: Holding) -> None:
        """Return everything that is not in the tree."""
        if self._slots is None:
            self.pool.give(holding.held)
        elif holding.held:
            table, row = self._row(holding)
            self._slots.give_slots(table.read(row, holding.cached, holding.cached + holding.held))
        self.held -= holding.held
        holding.held = 0

    def leave(self, holding: Holding) -> None:
        """Return the table row."""
        if self.table is not None and holding.row is not None:
            self.table.release(holding.row)
            holding.row = None

    def free_node(self, node: Node, tokens: int) -> None:
        """Return the last ``tokens`` of a node that is being evicted."""
        if self._slots is None:
            self.pool.give(tokens)
        elif node.slots is not None:
            self._slots.give_slots(node.slots[node.tokens - tokens :])

    def audit(self, nodes: list[Node], running: list[Holding]) -> None:
        """Every slot is in exactly one place, and each row agrees with the tree. Raises PoolError."""
        import numpy as np

        if self._slots is None:
            return
        places = [self._slots.free_slots(), *(node.slots for node in nodes if node.slots is not None)]
        for holding in running:
            if holding.row is None:
                continue
            table, row = self._row(holding)
            places.append(table.read(row, holding.cached, holding.cached + holding.held))
            if not np.array_equal(table.read(row, 0, holding.cached), _slots_between(None, holding.node)):
                raise PoolError("a table row points away from the tree")
        if not np.array_equal(np.sort(np.concatenate(places)), np.arange(self.pool.total)):
            raise PoolError("a slot is in two places or in none")

    def _row(self, holding: Holding) -> tuple[RequestTable, int]:
        assert self.table is not None
        assert holding.row is not None
        return self.table, holding.row


def _slots_between(above: Node | None, node: Node) -> NDArray[Any]:
    """The slots on the path from ``above`` (excluded; None: the root) down to ``node``."""
    import numpy as np

    parts: list[NDArray[Any]] = []
    while node is not above and node.parent is not None:
        assert node.slots is not None
        parts.append(node.slots)
        node = node.parent
    return np.concatenate(parts[::-1]) if parts else np.empty(0, dtype=np.int32)
