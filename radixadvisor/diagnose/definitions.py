"""RA303 for tools that are written as text: definitions behind a question that differs each time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.clusters import head_of
from radixadvisor.diagnose.placing import shown
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.sections import DEFINITIONS, sections_of
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, head_zone, place_of, zone_index
from radixadvisor.records import EditSpec

__all__ = ["definitions_behind"]

_SHOWN = 400


def definitions_behind(view: LogView) -> Iterator[Candidate]:
    """Definitions of tools as text that stand behind one other section, and come again behind another text
    of it.
    """
    groups: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index in view.order:
        request = view.request(index)
        head, messages = head_of(request), request.messages or ()
        places = [(head_zone(at), at) for at in range(head)]
        last = zone_index(request, LAST)
        for zone, at in places if last is None else [*places, (LAST, last)]:
            names = [section.name for section in sections_of(messages[at].text)]
            if names[1:] == [DEFINITIONS]:
                groups.setdefault((zone, names[0]), []).append((index, at))
    for (zone, name), found in groups.items():
        if _come_again(view, found):
            yield _candidate(view, zone, name, found)


def _come_again(view: LogView, found: list[tuple[int, int]]) -> bool:
    """Whether the same definitions stand behind different texts."""
    behind: dict[str, str] = {}
    for index, at in found:
        text = (view.request(index).messages or ())[at].text
        asked, told = (text[section.start : section.end].strip() for section in sections_of(text))
        if behind.setdefault(told, asked) != asked:
            return True
    return False


def _candidate(view: LogView, zone: str, name: str, found: list[tuple[int, int]]) -> Candidate:
    index, at = found[0]
    message = (view.request(index).messages or ())[at]
    section = sections_of(message.text)[1]
    order = (("joiner", "\n\n"), ("order", json.dumps([DEFINITIONS, name])), ("zone", zone))
    return Candidate(
        rule="RA303",
        title=f"Definitions of tools stand behind text that differs, in {shown(zone)}",
        place=Place(view.request(index).id, *place_of(message, at, section.start, section.end)),
        before=message.text[section.start : section.end][:_SHOWN],
        after=message.text[: section.start][:_SHOWN],
        requests=tuple(index for index, _ in found),
        edit=EditSpec(
            "order_sections",
            rule("RA303").safety,
            tuple(sorted({view.cluster_of[index] for index, _ in found})),
            order,
        ),
    )
