"""The same blocks in another order or at another place: static blocks behind what varies, permuted documents,
sections assembled in several orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.items import is_permuted, items_of
from radixadvisor.diagnose.placing import place_in, shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.slots import Slot, Zone
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, place_of
from radixadvisor.records import EditSpec

__all__ = ["mixed_orders", "permuted_items", "static_behind"]

_LOOK = 200
_LAST_WORDS = re.compile(r"question|query|task|input|request", re.IGNORECASE)
_FIRST_WORDS = re.compile(r"role|system|persona|you are|identity", re.IGNORECASE)


def static_behind(view: LogView) -> Iterator[Candidate]:
    """RA303: a long block of the last user turn that never changes stands behind what does."""
    least = rule("RA303").threshold("least_characters")
    for zone in view.zones:
        if zone.name != LAST or zone.permuted:
            continue
        for gap in zone.template.gaps:
            block = gap.following.strip("\n")
            if len(block) < least or not gap.following:
                continue
            holders = [(index, at) for index, at in zone.found if _text(view, index, at).find(block) > 0]
            if len(holders) < 2 or len({_text(view, *holder).find(block) for holder in holders}) < 2:
                continue
            index, at = holders[1]
            yield Candidate(
                rule="RA303",
                title="A block that never changes stands behind text that does, in the last user turn",
                place=_placed(view, index, at, block),
                before=block,
                after=block,
                requests=tuple(index for index, _ in holders),
                edit=EditSpec("pin_front", rule("RA303").safety, (zone.cluster.id,), (("block", block),)),
            )


def permuted_items(view: LogView) -> Iterator[Candidate]:
    """RA304: the same documents or sections come in another order."""
    for zone in view.zones:
        for slot in zone.slots:
            values = list(dict.fromkeys(slot.values))
            looked = [items.texts for value in values[:_LOOK] if (items := items_of(value)) is not None]
            if len(looked) < 2 or len(looked) < 0.5 * min(len(values), _LOOK):
                continue
            again, differ = is_permuted(looked)
            entry = rule("RA304")
            if again < entry.threshold("least_repeated") or differ < entry.threshold("least_reordered"):
                continue
            yield _permuted(view, slot)


def _permuted(view: LogView, slot: Slot) -> Candidate:
    at = next(at for at, value in enumerate(slot.values) if value != slot.values[0])
    block = (
        *(("after", slot.gap.after), ("before", slot.gap.before)),
        *(("label", slot.gap.label), ("zone", slot.zone)),
    )
    return Candidate(
        rule="RA304",
        title=f"The same blocks in {shown(slot.zone)} come in another order",
        place=place_in(view, slot, at, whole=True),
        before=slot.values[0].strip(),
        after=slot.values[at].strip(),
        requests=slot.requests,
        edit=EditSpec("sort_items", rule("RA304").safety, (slot.cluster.id,), block),
    )


def mixed_orders(view: LogView) -> Iterator[Candidate]:
    """RA307: one application assembles its sections in several orders."""
    for zone in view.zones:
        if not zone.permuted or len(zone.template.runs) < 2:
            continue
        heads = _best_order(zone)
        first = _order(_text(view, *zone.found[0]), heads)
        orders = ((found, _order(_text(view, *found), heads)) for found in zone.found)
        other, order = next((pair for pair in orders if pair[1] != first), (None, first))
        if other is None:
            continue
        place = next(at for at, head in enumerate(order) if [head] != first[at : at + 1])
        joiner = (
            "\n\n" if any("\n\n" + head in text for head in heads for text in zone.template.sample) else "\n"
        )
        parameters = (("heads", json.dumps(heads)), ("joiner", joiner), ("zone", zone.name))
        yield Candidate(
            rule="RA307",
            title=f"The sections of {shown(zone.name)} come in several orders",
            place=_placed(view, *other, order[place]),
            before="\n".join(head.strip() for head in first),
            after="\n".join(head.strip() for head in order),
            requests=tuple(index for index, _ in zone.found),
            edit=EditSpec("reorder_blocks", rule("RA307").safety, (zone.cluster.id,), parameters),
        )


def _best_order(zone: Zone) -> list[str]:
    """Heads of blocks: those that never vary first, in the order of the first text; the least varied of the
    others before the more varied; what is asked last.
    """
    varied = {}
    for run in zone.template.runs:
        inside = [
            slot.distinct for slot in zone.slots if any(slot.gap.before.endswith(part[-48:]) for part in run)
        ]
        varied[run[0]] = max(inside, default=1)
    text = zone.template.sample[0]

    def rank(head: str) -> tuple[bool, int, bool, int]:
        asked = bool(_LAST_WORDS.search(head)) and varied[head] > 1
        return asked, varied[head], not _FIRST_WORDS.search(head), text.find(head)

    return sorted(varied, key=rank)


def _order(text: str, heads: list[str]) -> list[str]:
    return sorted((head for head in heads if head in text), key=text.find)


def _text(view: LogView, index: int, at: int) -> str:
    messages = view.request(index).messages
    assert messages is not None
    return messages[at].text


def _placed(view: LogView, index: int, at: int, block: str) -> Place:
    request = view.request(index)
    assert request.messages is not None
    start = request.messages[at].text.find(block)
    path, low, high = place_of(request.messages[at], at, start, start + len(block.rstrip()))
    return Place(request.id, path, low, high)
