"""Tools that come and go within a session, or that a session loses altogether."""

from __future__ import annotations

import json
from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Detector, Place
from radixadvisor.diagnose.ra2xx import listed, named
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import EditSpec, ToolSet

__all__ = ["DETECTORS"]

_MOST_NAMED = 3


def tool_set_changes(view: LogView) -> Iterator[Candidate]:
    """RA203: sessions whose requests do not all have the same tools."""
    dropped = _dropped(view)
    for cluster in view.clusters:
        if not cluster.has_tools:
            continue
        catalogue: dict[str, str] = {}
        last: dict[int, ToolSet] = {}
        names: dict[ToolSet, frozenset[str]] = {}
        changes: list[tuple[int, ToolSet, ToolSet]] = []
        for index, tools in listed(view, cluster):
            if tools not in names:
                names[tools] = frozenset([tool.name for tool in tools.tools])
                for tool in tools.tools:
                    catalogue.setdefault(tool.name, tool.raw)
            session = view.trace.sessions[index]
            before = last.get(session)
            last[session] = tools
            if before is not None and names[before] != names[tools]:
                changes.append((index, before, tools))
        bare = dropped.get(cluster.id, [])
        changes += [(index, view.request(before).tools or ToolSet(()), ToolSet(())) for before, index in bare]
        if len(changes) < rule("RA203").threshold("requests"):
            continue
        index, old, new = changes[0]
        changed = sorted({tool.name for tool in old.tools} ^ {tool.name for tool in new.tools})
        others = {view.cluster_of[index] for _, index in bare}
        parameters = [("bare", "add")] if others else []
        parameters.append(("catalogue", json.dumps(list(catalogue.items()))))
        yield Candidate(
            rule="RA203",
            title=f"Tools come and go within a session ({', '.join(changed[:_MOST_NAMED])})",
            place=_place(view, index, old, new),
            before=named(old.tools),
            after=named(new.tools),
            requests=tuple(index for index, _, _ in changes),
            edit=EditSpec(
                "full_catalogue",
                rule("RA203").safety,
                (cluster.id, *sorted(others)),
                tuple(parameters),
            ),
        )


def _dropped(view: LogView) -> dict[int, list[tuple[int, int]]]:
    """By application with tools: requests that go on with a conversation of it without any tools, each with
    the request before it.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for index in view.order:
        before = view.previous[index]
        if before is None or view.request(index).tools is not None or view.request(before).tools is None:
            continue
        history = view.request(before).messages or ()
        if (view.request(index).messages or ())[: len(history)] == history:
            found.setdefault(view.cluster_of[before], []).append((before, index))
    return found


def _place(view: LogView, index: int, old: ToolSet, new: ToolSet) -> Place:
    """The first tool that is another one than before; ``tools`` where none is left."""
    request = view.request(index).id
    if not new.tools:
        return Place(request, "tools", 0, 0)
    at = 0
    while at < min(len(old.tools), len(new.tools)) - 1 and old.tools[at].name == new.tools[at].name:
        at += 1
    at = at + 1 if at + 1 < len(new.tools) and old.tools[at].name == new.tools[at].name else at
    return Place(request, f"tools[{at}]", 0, len(new.tools[at].raw))


DETECTORS: dict[str, Detector] = {"RA203": tool_set_changes}
