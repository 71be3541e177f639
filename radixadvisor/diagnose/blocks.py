"""Slots that hold a block of text, not a mere value: which rule they fall under, and what to do with them."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.items import is_examples, is_permuted, is_retrieved, items_of
from radixadvisor.diagnose.placing import block_edit, place_in, shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.slots import Slot
from radixadvisor.diagnose.values import TEXT
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, is_head
from radixadvisor.records import EditSpec

__all__ = ["block_candidates", "block_rule", "is_short"]


def is_short(slot: Slot) -> bool:
    """Whether a slot is a value of a line or a few, not a block of text that a client writes anew."""
    if TEXT in slot.kinds and slot.within_conversation and (slot.gap.label or slot.lines > 2):
        return False
    return slot.size <= rule("RA106").threshold("most_characters") and slot.lines <= 6


def block_rule(slot: Slot) -> str | None:
    """The rule that a block of text falls under; None where nothing shared stands behind it, unless it holds
    examples: the same ones would be shared themselves.
    """
    label = f"{slot.gap.label} {slot.gap.before[-40:]}"
    if is_examples(label, slot.values[0]):
        return "RA306" if _drawn_from_a_pool(slot) else None
    before_shared = slot.gap.static_after >= rule("RA302").threshold("shared_characters_after")
    before_history = is_head(slot.zone) and slot.turns > 0 and slot.within_conversation
    if not before_shared and not before_history:
        return None
    if before_history:
        return "RA302" if is_retrieved(label, slot.values[0]) else "RA301"
    if slot.shared_rest < rule("RA106").threshold("least_shared_rest"):
        return "RA302" if is_retrieved(label, slot.values[0]) else None
    if slot.keyed:
        return "RA105"
    few = rule("RA305").threshold("most_variants")
    if slot.distinct <= few and len(slot.values) >= 3 * slot.distinct:
        return "RA305"
    if is_retrieved(label, slot.values[0]):
        return "RA302"
    asked = slot.zone == LAST and slot.distinct > 0.5 * len(slot.values)
    return None if asked else "RA106"


def _drawn_from_a_pool(slot: Slot) -> bool:
    """Whether values hold other items, not the same in another order, and items come again."""
    lists = [found.texts for value in dict.fromkeys(slot.values) if (found := items_of(value)) is not None]
    if len({frozenset(texts) for texts in lists}) < max(2, len(lists) // 2):
        return False
    return is_permuted(lists)[0] >= rule("RA306").threshold("least_repeated")


_TITLES = {
    "RA105": "A user's block in {zone} stands before text that all users share",
    "RA106": "A block in {zone} varies before text that is shared",
    "RA301": "A block in {zone} is written anew each turn, and the history stands behind it",
    "RA302": "Retrieved text in {zone} stands before history or instructions",
    "RA305": "A few variants of a block in {zone} stand before text that all share",
    "RA306": "Examples in {zone} are drawn anew",
}


def block_candidates(name: str, view: LogView) -> Iterator[Candidate]:
    """The blocks of a log that fall under one rule."""
    for zone in view.zones:
        if zone.permuted:
            continue
        for slot in zone.slots:
            if not is_short(slot) and block_rule(slot) == name:
                yield _candidate(name, slot, view)


def _candidate(name: str, slot: Slot, view: LogView) -> Candidate:
    at = next(at for at, value in enumerate(slot.values) if value != slot.values[0])
    return Candidate(
        rule=name,
        title=_TITLES[name].format(zone=shown(slot.zone)),
        place=place_in(view, slot, at, whole=True),
        before=slot.values[0].strip(),
        after=slot.values[at].strip(),
        requests=slot.requests,
        edit=_edit(name, slot),
    )


def _edit(name: str, slot: Slot) -> EditSpec:
    safety = rule(name).safety
    if name == "RA306":
        block = (("after", slot.gap.after), ("before", slot.gap.before))
        pinned = (*block, ("text", _first_full(slot)), ("zone", slot.zone))
        return EditSpec("pin_block", safety, (slot.cluster.id,), pinned)
    in_message = name == "RA305" and not slot.cluster.has_tools
    return block_edit(slot, None if is_head(slot.zone) and not in_message else "end", safety)


def _first_full(slot: Slot) -> str:
    """The first of the values with the most examples."""

    def count(value: str) -> int:
        items = items_of(value)
        return 1 if items is None else len(items.texts)

    return max(slot.values[:50], key=count)
