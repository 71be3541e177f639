"""The same blocks in another order or at another place: static blocks behind what varies, permuted documents,
sections assembled in several orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from radixadvisor.diagnose.blocks import block_rule, is_short
from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.definitions import definitions_behind
from radixadvisor.diagnose.items import by_name, is_permuted, items_of
from radixadvisor.diagnose.moving import moving_messages
from radixadvisor.diagnose.placing import place_in, shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.slots import Slot, Zone
from radixadvisor.diagnose.values import DATE, IDENTIFIER, TIME
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, place_of
from radixadvisor.records import EditSpec

__all__ = ["mixed_orders", "permuted_items", "static_behind"]

_LOOK = 200
_LAST_WORDS = re.compile(r"question|query|task|input|request", re.IGNORECASE)
_VARIABLE = re.compile(r"\d+|\b[A-Za-z]\b|\"[^\"]*\"|'[^']*'")
_FIRST_WORDS = re.compile(r"role|system|persona|you are|identity", re.IGNORECASE)


def static_behind(view: LogView) -> Iterator[Candidate]:
    """RA303: a long block of the last user turn that never changes stands behind what does."""
    yield from moving_messages(view)
    yield from definitions_behind(view)
    least = rule("RA303").threshold("least_characters")
    for zone in view.zones:
        if zone.name != LAST or zone.permuted:
            continue
        for gap in zone.template.gaps:
            block = gap.following.strip("\n")
            if len(block) < least or any(slot.gap == gap and _has_a_rule(slot) for slot in zone.slots):
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


def _has_a_rule(slot: Slot) -> bool:
    """Whether what varies in front of a block is itself to be moved."""
    return slot.kinds <= {TIME, DATE, IDENTIFIER} if is_short(slot) else block_rule(slot) is not None


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
            if is_short(slot) or block_rule(slot) != "RA306":
                yield _permuted(view, slot)
    yield from permuted_sections(view)


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
    yield from _reordered(view, "RA307", "The sections of {zone} come in several orders")


def permuted_sections(view: LogView) -> Iterator[Candidate]:
    """RA304, where the blocks are the same in all requests: headings that differ in a number or name only."""
    yield from _reordered(view, "RA304", "The same blocks in {zone} come in another order")


def _reordered(view: LogView, name: str, title: str) -> Iterator[Candidate]:
    for zone in view.zones:
        runs = zone.template.runs
        if not zone.permuted or len(runs) < 2:
            continue
        heads, end = _moving([run[0] for run in runs], zone)
        alike = len({_VARIABLE.sub("#", head.strip()) for head in heads}) == 1
        if alike != (name == "RA304"):
            continue
        heads = by_name(heads) if alike else _best_order(heads, end, zone)
        first = _order(_text(view, *zone.found[0]), heads)
        orders = ((found, _order(_text(view, *found), heads)) for found in zone.found)
        other, order = next((pair for pair in orders if pair[1] != first), (None, first))
        if other is None:
            continue
        place = next(at for at, head in enumerate(order) if [head] != first[at : at + 1])
        spaced = any("\n\n" + head in text for head in heads for text in zone.template.sample)
        parameters = (
            *(("end", end), ("heads", json.dumps(heads))),
            *(("joiner", "\n\n" if spaced else "\n"), ("zone", zone.name)),
        )
        yield Candidate(
            rule=name,
            title=title.format(zone=shown(zone.name)),
            place=_placed(view, *other, order[place]),
            before="\n".join(head.strip() for head in first),
            after="\n".join(head.strip() for head in order),
            requests=tuple(index for index, _ in zone.found),
            edit=EditSpec("reorder_blocks", rule(name).safety, (zone.cluster.id,), parameters),
        )


def _moving(heads: list[str], zone: Zone) -> tuple[list[str], str]:
    """The heads without those that come first, or last, in all texts, and the first of those at the end."""
    orders = [_order(text, heads) for text in zone.template.sample]
    end = ""
    while len(heads) > 2 and all(order[:1] == heads[:1] for order in orders):
        heads, orders = heads[1:], [order[1:] for order in orders]
    while len(heads) > 2 and all(order[-1:] == heads[-1:] for order in orders):
        end = heads[-1]
        heads, orders = heads[:-1], [order[:-1] for order in orders]
    return heads, end


def _best_order(heads: list[str], end: str, zone: Zone) -> list[str]:
    """Blocks that never vary first, in the order of the first text; of the others the less varied before the
    more varied; what is asked last.
    """
    sample = zone.template.sample
    blocks: dict[str, set[str]] = {head: set() for head in heads}
    for text in sample:
        order = _order(text, heads)
        stop = text.find(end) if end else len(text)
        ends = [*[text.find(head) for head in order[1:]], stop]
        for head, place in zip(order, ends, strict=True):
            blocks[head].add(text[text.find(head) : place].strip())

    def rank(head: str) -> tuple[bool, int, bool, int]:
        varied = len(blocks[head])
        asked = bool(_LAST_WORDS.search(head)) and varied > 1
        return asked, varied, not _FIRST_WORDS.search(head), sample[0].find(head)

    return sorted(heads, key=rank)


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
