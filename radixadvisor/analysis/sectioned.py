"""The requests of a log as tables of sections, one for each message that is written by sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.clusters import head_of
from radixadvisor.diagnose.sections import Section, sections_of
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import FIRST, LAST, head_zone
from radixadvisor.prescribe.order.table import Table, cost_as_written, table_of
from radixadvisor.records import Message, Request

__all__ = ["Sectioned", "sectioned"]

_LEAST_ROWS = 3
Sizer = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Row:
    """A message behind what stands before it (a key), in one or several requests."""

    before: Hashable
    message: Message
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Sectioned:
    """Messages of one make.

    ``names`` are their sections, in the order that most messages have; ``requests`` trace indices in order of
    arrival; ``texts`` hold per section and row its text, empty where a row lacks it. Column 0 of a table is
    what stands before the message: it comes first and costs nothing here.
    """

    zone: str
    clusters: tuple[int, ...]
    names: tuple[str, ...]
    requests: tuple[int, ...]
    rows: tuple[_Row, ...]
    texts: tuple[tuple[str, ...], ...]
    joiner: str

    @property
    def mixed(self) -> bool:
        """Whether rows with the same sections have them in several orders."""
        found: dict[frozenset[str], tuple[str, ...]] = {}
        for row in self.rows:
            names = tuple(section.name for section in row.sections)
            if found.setdefault(frozenset(names), names) != names:
                return True
        return False

    def table(self, size: Sizer = len) -> Table:
        """Sections as columns behind column 0; ``size`` measures a text."""
        known = {text: size(text) if text else 0 for column in self.texts for text in column}
        columns: list[Sequence[Hashable]] = [[row.before for row in self.rows], *self.texts]
        lengths = [[0] * len(self.rows), *([known[text] for text in column] for column in self.texts)]
        return table_of(columns, lengths, [0, *([1] * len(self.names))])

    def written(self, table: Table) -> int:
        """What the rows cost in the orders that they have."""
        at = {name: number for number, name in enumerate(self.names, start=1)}
        return cost_as_written(table, [[0, *(at[part.name] for part in row.sections)] for row in self.rows])


def sectioned(view: LogView, state: Callable[[int], Request]) -> list[Sectioned]:
    """The tables of a log, as its requests are in a state of it: heads, and the first user turn."""
    groups: dict[tuple[Hashable, str], dict[frozenset[str], list[tuple[int, _Row]]]] = {}
    single = _single_turns(view)
    for index in view.order:
        request = state(index)
        head, messages = head_of(request), request.messages or ()
        space = (view.trace.pool_of[index], request.model, view.trace.namespace(index))
        for at, message in enumerate(messages[: head + 1]):
            if at == head and message.role != "user":
                continue
            parts = sections_of(message.text)
            if len(parts) < 2:
                continue
            tools = request.tools if at == head else None
            before = (space, tools, *messages[:at])
            zone = head_zone(at) if at < head else LAST if view.cluster_of[index] in single else FIRST
            kinds = groups.setdefault(((*space[:2], head), zone), {})
            names = frozenset(part.name for part in parts)
            kinds.setdefault(names, []).append((index, _Row(before, message, parts)))
    return [
        table
        for (_, zone), kinds in groups.items()
        for members in _joined(kinds)
        if (table := _table(view, zone, members)) is not None
    ]


def _single_turns(view: LogView) -> set[int]:
    """Applications whose requests hold one user turn each."""
    return {
        cluster.id
        for cluster in view.clusters
        if all(
            sum(message.role == "user" for message in view.request(index).messages or ()) == 1
            for index in cluster.requests
        )
    }


def _joined(kinds: dict[frozenset[str], list[tuple[int, _Row]]]) -> list[list[tuple[int, _Row]]]:
    """Messages whose sections are among those of others belong to them."""
    found: list[tuple[frozenset[str], list[tuple[int, _Row]]]] = []
    for names in sorted(kinds, key=lambda names: (-len(names), sorted(names))):
        home = next((members for more, members in found if names <= more), None)
        if home is None:
            found.append((names, list(kinds[names])))
        else:
            home += kinds[names]
    return [members for _, members in found]


def _table(view: LogView, zone: str, members: list[tuple[int, _Row]]) -> Sectioned | None:
    rows = tuple({(row.before, row.message.text): row for _, row in members}.values())
    if len(rows) < _LEAST_ROWS:
        return None
    orders = Counter(tuple(part.name for part in row.sections) for row in rows)
    # The longest of the frequent orders first; what it lacks goes behind.
    frequent = sorted(orders, key=lambda order: (-len(order), -orders[order]))
    names = tuple(dict.fromkeys(name for order in frequent for name in order))
    found = [
        {part.name: row.message.text[part.start : part.end].strip("\n") for part in row.sections}
        for row in rows
    ]
    spaced = any("\n\n" in row.message.text for row in rows)
    return Sectioned(
        zone=zone,
        clusters=tuple(sorted({view.cluster_of[index] for index, _ in members})),
        names=names,
        requests=tuple(dict.fromkeys(index for index, _ in members)),
        rows=rows,
        texts=tuple(tuple(texts.get(name, "") for texts in found) for name in names),
        joiner="\n\n" if spaced else "\n",
    )
