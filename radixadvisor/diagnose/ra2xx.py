"""Tool definitions that come in another order or in another form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from radixadvisor.diagnose.candidate import Candidate, Detector, Place
from radixadvisor.diagnose.clusters import Cluster
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.turns import canonical, parting
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import EditSpec, Tool, ToolSet

__all__ = ["DETECTORS", "listed", "named"]


class _Forms:
    """Tools by their value: each distinct definition is parsed once."""

    def __init__(self) -> None:
        self._known: dict[Tool, str] = {}
        self._shapes: dict[Tool, tuple[str, frozenset[str]]] = {}

    def of(self, tool: Tool) -> str:
        form = self._known.get(tool)
        if form is None:
            form = self._known[tool] = canonical(tool.raw)
        return form

    def drifts(self, old: Tool, new: Tool) -> bool:
        """Whether two definitions are one tool's: the same but for some words of their descriptions."""
        if self.of(old) == self.of(new):
            return False
        (shape, words), (other_shape, other_words) = self._shape(old), self._shape(new)
        common = len(words & other_words) / max(len(words | other_words), 1)
        return shape == other_shape and common >= rule("RA204").threshold("same_words")

    def _shape(self, tool: Tool) -> tuple[str, frozenset[str]]:
        found = self._shapes.get(tool)
        if found is None:
            texts: list[str] = []
            try:
                shape = json.dumps(_without_words(json.loads(tool.raw), texts), sort_keys=True)
            except ValueError:
                shape, texts = "", [tool.raw]
            found = self._shapes[tool] = (shape, frozenset(" ".join(texts).split()))
        return found


def _without_words(value: Any, texts: list[str]) -> Any:
    """A definition without its descriptions and lists of values, which are added to ``texts``."""
    if isinstance(value, dict):
        kept = {}
        for key, part in value.items():
            if key in ("description", "title", "enum", "default", "examples"):
                texts.append(part if isinstance(part, str) else json.dumps(part))
            else:
                kept[key] = _without_words(part, texts)
        return kept
    if isinstance(value, list):
        return [_without_words(part, texts) for part in value]
    return value


def listed(view: LogView, cluster: Cluster) -> list[tuple[int, ToolSet]]:
    """The requests of an application that have tools, with their lists, in order of arrival."""
    found = ((index, view.request(index).tools) for index in cluster.requests)
    return [(index, tools) for index, tools in found if tools is not None]


def named(tools: Sequence[Tool]) -> str:
    return ", ".join([tool.name for tool in tools])


def _edit(number: str, cluster: Cluster, kind: str, **parameters: str) -> EditSpec:
    return EditSpec(kind, rule(number).safety, (cluster.id,), tuple(sorted(parameters.items())))


def tool_order(view: LogView) -> Iterator[Candidate]:
    """RA201: one multiset of tools in several orders."""
    forms = _Forms()
    least = rule("RA201").threshold("requests")
    for cluster in view.clusters:
        orders: dict[tuple[str, ...], tuple[tuple[str, ...], ToolSet]] = {}
        keys: dict[ToolSet, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        differing, first = [], None
        for index, tools in listed(view, cluster):
            key = keys.get(tools)
            if key is None:
                values = tuple([forms.of(tool) for tool in tools.tools])
                key = keys[tools] = (tuple(sorted(values)), values)
            before, known = orders.get(key[0], (None, tools))
            orders[key[0]] = (key[1], tools)
            if before is not None and before != key[1]:
                differing.append(index)
                if first is None:
                    first = (index, known, tools, before, key[1])
        if first is None or len(differing) < least:
            continue
        index, old, new, before, after = first
        at = next(place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
        yield Candidate(
            rule="RA201",
            title=f"The same {len(new.tools)} tools come in another order",
            place=Place(view.request(index).id, f"tools[{at}]", 0, len(new.tools[at].raw)),
            before=named(old.tools),
            after=named(new.tools),
            requests=tuple(differing),
            edit=_edit("RA201", cluster, "sort_tools"),
        )


def key_order(view: LogView) -> Iterator[Candidate]:
    """RA202: definitions that are equal as JSON and differ as text."""
    forms = _Forms()
    for cluster in view.clusters:
        texts: dict[str, Tool] = {}
        differing = []
        first: tuple[int, int, Tool, Tool] | None = None
        judged: dict[ToolSet, tuple[int, Tool, Tool] | None] = {}
        for index, tools in listed(view, cluster):
            if tools not in judged:
                judged[tools] = None
                for at, tool in enumerate(tools.tools):
                    known = texts.setdefault(forms.of(tool), tool)
                    if known.raw != tool.raw and judged[tools] is None:
                        judged[tools] = (at, known, tool)
            found = judged[tools]
            if found is not None:
                differing.append(index)
                first = first or (index, *found)
        if first is None or len(differing) < rule("RA202").threshold("requests"):
            continue
        index, at, old, new = first
        start = parting(old.raw, new.raw)
        yield Candidate(
            rule="RA202",
            title=f"The definition of {new.name} is the same JSON in another form",
            place=Place(view.request(index).id, f"tools[{at}]", start, len(new.raw)),
            before=old.raw[start:],
            after=new.raw[start:],
            requests=tuple(differing),
            edit=_edit("RA202", cluster, "canonical_tools"),
        )


def schema_drift(view: LogView) -> Iterator[Candidate]:
    """RA204: a tool of one name whose definition changes, and changes again."""
    forms = _Forms()
    for cluster in view.clusters:
        frozen: dict[str, Tool] = {}
        last: dict[tuple[str, ...], tuple[Tool, ...]] = {}
        changes: dict[str, list[int]] = {}
        first: dict[str, tuple[int, int, Tool, Tool]] = {}
        for index, tools in listed(view, cluster):
            # One-shot traffic with tools of its own for each request shares names by chance.
            catalogue = tuple([tool.name for tool in tools.tools])
            known = last.get(catalogue, tools.tools)
            last[catalogue] = tools.tools
            for at, (before, tool) in enumerate(zip(known, tools.tools, strict=True)):
                frozen.setdefault(tool.name, tool)
                if before is not tool and forms.drifts(before, tool):
                    changes.setdefault(tool.name, []).append(index)
                    first.setdefault(tool.name, (index, at, before, tool))
        drifting = [name for name in changes if len(changes[name]) >= rule("RA204").threshold("changes")]
        if not drifting:
            continue
        index, at, old, new = min(first[name] for name in drifting)[:4]
        start = parting(old.raw, new.raw)
        texts = {name: frozen[name].raw for name in sorted(drifting)}
        yield Candidate(
            rule="RA204",
            title=f"The definition of {new.name} changes between requests",
            place=Place(view.request(index).id, f"tools[{at}]", start, len(new.raw)),
            before=old.raw[start:],
            after=new.raw[start:],
            requests=tuple(sorted({index for name in drifting for index in changes[name]})),
            edit=_edit("RA204", cluster, "freeze_tools", frozen=json.dumps(texts)),
        )


DETECTORS: dict[str, Detector] = {
    "RA201": tool_order,
    "RA202": key_order,
    "RA204": schema_drift,
}
