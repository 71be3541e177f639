"""RA303 for tools that are written as text: definitions behind a question that differs each time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.sections import DEFINITIONS, TEXT, sections_of
from radixadvisor.diagnose.view import LogView
from radixadvisor.diagnose.zones import LAST, place_of, zone_index
from radixadvisor.records import EditSpec

__all__ = ["definitions_behind"]

_SHOWN = 400


def definitions_behind(view: LogView) -> Iterator[Candidate]:
    """Definitions of tools as text that stand behind the question, and come again behind another one."""
    found: list[tuple[int, int]] = []
    blocks: dict[str, set[str]] = {}
    for index in view.order:
        messages = view.request(index).messages or ()
        at = zone_index(view.request(index), LAST)
        if at is None:
            continue
        text = messages[at].text
        sections = sections_of(text)
        if [section.name for section in sections] != [TEXT, DEFINITIONS]:
            continue
        asked, told = (text[section.start : section.end].strip() for section in sections)
        blocks.setdefault(told, set()).add(asked)
        found.append((index, at))
    if not any(len(asked) > 1 for asked in blocks.values()):
        return
    index, at = found[0]
    message = (view.request(index).messages or ())[at]
    section = sections_of(message.text)[1]
    clusters = tuple(sorted({view.cluster_of[index] for index, _ in found}))
    order = (("joiner", "\n\n"), ("order", json.dumps([DEFINITIONS, TEXT])), ("zone", LAST))
    yield Candidate(
        rule="RA303",
        title="Definitions of tools stand behind the question, in the last user turn",
        place=Place(view.request(index).id, *place_of(message, at, section.start, section.end)),
        before=message.text[section.start : section.end][:_SHOWN],
        after=message.text[: section.start][:_SHOWN],
        requests=tuple(index for index, _ in found),
        edit=EditSpec("order_sections", rule("RA303").safety, clusters, order),
    )
