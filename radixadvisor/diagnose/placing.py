"""From a slot to what a Candidate says of it: the place, the words for it, and the edit."""

from __future__ import annotations

from radixadvisor.diagnose.candidate import Place
from radixadvisor.diagnose.slots import Slot
from radixadvisor.diagnose.values import IDENTIFIER, columns, spans
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import FIRST, is_head, place_of
from radixadvisor.records import EditSpec

__all__ = ["block_edit", "place_in", "shown"]


def shown(zone: str) -> str:
    """A zone in words."""
    if is_head(zone):
        return "the system message"
    return "the first user turn" if zone == FIRST else "the last user turn"


def place_in(view: LogView, slot: Slot, at: int, *, whole: bool) -> Place:
    """The place of a slot's value in its ``at``-th request: the whole value without the white space around
    it, or the identifier in it that varies most.
    """
    value, start = slot.values[at], slot.starts[at]
    low, high = len(value) - len(value.lstrip()), len(value.rstrip())
    table = None if whole else columns(slot.values)
    if table is not None:
        rank = [(column.kind == IDENTIFIER, column.distinct) for column in table]
        low, high = spans(value)[rank.index(max(rank))]
    index = slot.requests[at]
    request = view.request(index)
    assert request.messages is not None
    number = slot.messages[at]
    path, low, high = place_of(request.messages[number], number, start + low, start + high)
    return Place(request.id, path, low, high)


def block_edit(slot: Slot, to: str | None, safety: str) -> EditSpec:
    """The edit that takes a slot's block away from its place.

    Args:
        slot: the slot; its tags or heading go with it.
        to: ``drop``, ``tail``, ``first`` or ``end``; None moves it to the first user turn where it stays the
            same for a conversation, else to the last.
        safety: the rule's safety class.
    """
    if to is None:
        to = "first" if slot.turns and not slot.within_conversation else "tail"
    gap = slot.gap
    block = (("after", gap.outer_after), ("before", gap.outer_before), ("label", gap.label))
    if to == "drop":
        return EditSpec("drop_block", safety, (slot.cluster.id,), (*block, ("zone", slot.zone)))
    return EditSpec("move_block", safety, (slot.cluster.id,), (*block, ("to", to), ("zone", slot.zone)))
