"""Edits of tool lists: order, key order, a full catalogue, frozen definitions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from radixadvisor.records import Request, Tool, ToolSet

__all__ = ["EDITS"]


def sort_tools(request: Request, parameters: Mapping[str, str]) -> Request:
    """Tools by name. A cache breakpoint keeps its position in the list."""
    return _with_tools(request, _sorted)


def canonical_tools(request: Request, parameters: Mapping[str, str]) -> Request:
    """Tool definitions with the keys of every object sorted."""
    return _with_tools(request, _canonical)


def full_catalogue(request: Request, parameters: Mapping[str, str]) -> Request:
    """Every tool of ``catalogue`` (a JSON list of names and definitions as text) in its order; tools that it
    lacks follow. A request without tools stays without unless ``bare`` is ``add``.
    """
    if request.tools is None and parameters.get("bare") == "add":
        return replace(request, tools=ToolSet(_catalogue(parameters["catalogue"])))
    return _with_tools(request, lambda tools: _completed(tools, parameters["catalogue"]))


def freeze_tools(request: Request, parameters: Mapping[str, str]) -> Request:
    """The definitions of ``frozen`` (a JSON object of texts by name) for the tools of those names."""
    return _with_tools(request, lambda tools: _frozen(tools, parameters["frozen"]))


EDITS = {
    "canonical_tools": canonical_tools,
    "freeze_tools": freeze_tools,
    "full_catalogue": full_catalogue,
    "sort_tools": sort_tools,
}


def _with_tools(request: Request, change: Callable[[ToolSet], ToolSet]) -> Request:
    if request.tools is None:
        return request
    changed = change(request.tools)
    return request if changed is request.tools else replace(request, tools=changed)


def _rebuilt(tools: ToolSet, wanted: list[Tool]) -> ToolSet:
    """A tool set of these tools, breakpoints where they stood; the same object if nothing changes."""
    marks = [tool.cache_control for tool in tools.tools]
    if len(wanted) > len(marks):
        marks = [*marks[:-1], *[None] * (len(wanted) - len(marks)), marks[-1]]
    placed = [
        tool if tool.cache_control == mark else Tool(tool.name, tool.raw, mark)
        for tool, mark in zip(wanted, marks, strict=True)
    ]
    same = len(placed) == len(tools.tools) and all(
        new.raw == old.raw and new.cache_control == old.cache_control
        for new, old in zip(placed, tools.tools, strict=True)
    )
    return tools if same else ToolSet(tuple(placed))


@lru_cache(maxsize=4096)
def _sorted(tools: ToolSet) -> ToolSet:
    return _rebuilt(tools, sorted(tools.tools, key=lambda tool: (tool.name, tool.raw)))


@lru_cache(maxsize=4096)
def _canonical(tools: ToolSet) -> ToolSet:
    return _rebuilt(tools, [_canonical_tool(tool) for tool in tools.tools])


@lru_cache(maxsize=4096)
def _canonical_tool(tool: Tool) -> Tool:
    try:
        raw = json.dumps(json.loads(tool.raw), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return tool
    return tool if raw == tool.raw else Tool(tool.name, raw, tool.cache_control)


@lru_cache(maxsize=4096)
def _completed(tools: ToolSet, catalogue: str) -> ToolSet:
    listed = _catalogue(catalogue)
    own = {tool.name: tool for tool in tools.tools}
    known = {tool.name for tool in listed}
    wanted = [own.get(tool.name, tool) for tool in listed]
    return _rebuilt(tools, wanted + [tool for tool in tools.tools if tool.name not in known])


@lru_cache(maxsize=64)
def _catalogue(text: str) -> tuple[Tool, ...]:
    return tuple(Tool(name, raw) for name, raw in json.loads(text))


@lru_cache(maxsize=4096)
def _frozen(tools: ToolSet, frozen: str) -> ToolSet:
    forms: dict[str, str] = json.loads(frozen)
    return _rebuilt(
        tools,
        [
            Tool(tool.name, forms[tool.name], tool.cache_control)
            if forms.get(tool.name, tool.raw) != tool.raw
            else tool
            for tool in tools.tools
        ],
    )
