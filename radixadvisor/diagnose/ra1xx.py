"""Values that vary in the shared part of a prompt: clocks, dates, identifiers, users, and other slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from radixadvisor.diagnose.blocks import block_candidates, is_short
from radixadvisor.diagnose.candidate import Candidate, Detector
from radixadvisor.diagnose.placing import block_edit, place_in, shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.slots import Slot
from radixadvisor.diagnose.values import DATE, IDENTIFIER, NUMBER, TEXT, TIME
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, is_head

__all__ = ["DETECTORS"]


def _worth_a_look(slot: Slot) -> bool:
    """Whether shared text stands behind a slot: in its message, or as history."""
    return slot.gap.static_after >= rule("RA106").threshold("shared_characters_after") or (
        is_head(slot.zone) and slot.turns > 0 and slot.within_conversation
    )


def _is_clock(slot: Slot) -> bool:
    return TIME in slot.kinds or (DATE in slot.kinds and not slot.daily and slot.within_conversation)


def _is_date(slot: Slot) -> bool:
    return DATE in slot.kinds and not _is_clock(slot)


def _is_request_id(slot: Slot) -> bool:
    return IDENTIFIER in slot.kinds and not _is_session_id(slot) and slot.distinct > 0.9 * len(slot.values)


def _is_session_id(slot: Slot) -> bool:
    fresh = slot.distinct >= 0.9 * slot.conversations and not (slot.keyed and TEXT in slot.kinds)
    stays = slot.turns > 0 and not slot.within_conversation
    return IDENTIFIER in slot.kinds and stays and (fresh or not slot.keyed)


def _is_user_block(slot: Slot) -> bool:
    return slot.keyed and not (slot.kinds & {TIME}) and not _is_session_id(slot)


def _is_other(slot: Slot) -> bool:
    typed = _is_clock(slot) or _is_date(slot) or _is_request_id(slot) or _is_session_id(slot)
    if slot.shared_rest < rule("RA106").threshold("least_shared_rest"):
        return False
    asked = slot.zone == LAST and slot.distinct > 0.5 * len(slot.values)
    return not typed and not asked and not _is_user_block(slot)


_KINDS: dict[str, tuple[Callable[[Slot], bool], str]] = {
    "RA101": (_is_clock, "A clock in {zone} differs from request to request"),
    "RA102": (_is_date, "A date in {zone} changes from day to day"),
    "RA103": (_is_request_id, "An identifier in {zone} is new in each request"),
    "RA104": (_is_session_id, "A session's identifier in {zone} stands before text that all sessions share"),
    "RA105": (_is_user_block, "What differs by user in {zone} stands before text that all users share"),
    "RA106": (_is_other, "A value in {zone} varies before text that is shared"),
}


def _detect(name: str, view: LogView) -> Iterator[Candidate]:
    fits, title = _KINDS[name]
    for zone in view.zones:
        for slot in zone.slots:
            if zone.permuted and name in ("RA105", "RA106"):
                continue
            if is_short(slot) and _worth_a_look(slot) and fits(slot):
                yield _candidate(name, title, slot, view)
    yield from block_candidates(name, view)


def _candidate(name: str, title: str, slot: Slot, view: LogView) -> Candidate:
    """The fix drops what only machines read, and moves the rest as far behind as its changes allow."""
    pure = name == "RA103" and not slot.kinds - {IDENTIFIER, NUMBER}
    first = next(at for at, value in enumerate(slot.values) if value != slot.values[0])
    return Candidate(
        rule=name,
        title=title.format(zone=shown(slot.zone)),
        place=place_in(view, slot, first, whole=not pure),
        before=slot.values[0].strip(),
        after=slot.values[first].strip(),
        requests=slot.requests,
        edit=block_edit(slot, "drop" if pure else None, rule(name).safety),
    )


DETECTORS: dict[str, Detector] = {name: partial(_detect, name) for name in _KINDS}
