"""A lock as its file, as JSON, and in words for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.analysis.lock.file import SCHEMA, Lock, Locked
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import count, plural

__all__ = ["quiet_line", "render", "to_json", "to_toml"]

_HEADER = """\
# The static prefix of each application, written by radixadvisor lock. Commit this file;
# radixadvisor check LOG --lock FILE fails when a later log no longer begins its prompts this way.
"""
_TABLES = ("application", "section")
_LONGEST = 120


def to_json(lock: Lock) -> bytes:
    """The lock, and what could not be locked, as JSON."""
    left_out = [
        {"reason": item.reason, "applications": item.applications, "requests": item.requests}
        for item in lock.unlocked
    ]
    return (json.dumps({**_rows(lock), "unlocked": left_out}, indent=2, ensure_ascii=True) + "\n").encode()


def to_toml(lock: Lock) -> str:
    """The lock file: the same lock gives the same text."""
    return _HEADER + "\n" + "\n".join(_toml(_rows(lock))) + "\n"


def _rows(lock: Lock) -> dict[str, Any]:
    """A lock as plain data, in the order of the file."""
    return {"schema": SCHEMA, "application": [_row(item) for item in lock.applications]}


def _row(item: Locked) -> dict[str, Any]:
    return {
        **({"name": _named(item.name)} if item.name else {}),
        "model": _named(item.model),
        "tokenizer": _named(item.tokenizer),
        "template": _named(item.template),
        "template_hash": item.template_hash,
        **({"tools": [_named(tool) for tool in item.tools]} if item.tools else {}),
        "tokens": item.prefix.tokens,
        "hash": item.prefix.hash,
        "section": [
            {
                "place": part.place,
                **({"label": _named(part.label)} if part.label else {}),
                "tokens": part.tokens,
                "lines": " ".join(part.lines),
            }
            for part in item.prefix.sections
        ],
    }


def _named(name: str) -> str:
    return clip(mask(name), _LONGEST)


def _toml(rows: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Scalars first, then arrays of tables."""
    for key, value in rows.items():
        if key not in _TABLES:
            yield f"{key} = {_scalar(value)}"
    for key in _TABLES:
        for member in rows.get(key, ()):
            yield ""
            yield f"[[{prefix}{key}]]"
            yield from _toml(member, f"{prefix}{key}.")


def _scalar(value: Any) -> str:
    """A TOML value. A string of JSON is one of TOML but for characters beyond the basic plane, which JSON may
    write as two surrogates, lone surrogates, which TOML cannot hold, and DEL, which JSON leaves as it is.
    """
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, str):
        value = value.encode(errors="backslashreplace").decode()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def quiet_line(lock: Lock) -> str:
    """The lock in one line."""
    tokens = ", ".join(f"{item.label} {count(item.prefix.tokens)}" for item in lock.applications)
    return f"{plural(len(lock.applications), 'application')} locked: {tokens} tokens"


def render(lock: Lock, screen: Screen) -> str:
    """Each application with the length of its prefix, and what could not be locked."""
    return screen.text(_blocks(lock, screen))


def _blocks(lock: Lock, screen: Screen) -> Iterator[RenderableType]:
    yield Text(f"{plural(len(lock.applications), 'application')} locked", style="bold")
    table = grid("*application", ">tokens", ">sections", ">tools")
    for item in lock.applications:
        table.add_row(
            Text(screen.safe(_named(item.label))),
            count(item.prefix.tokens),
            count(len(item.prefix.sections)),
            count(len(item.tools)),
        )
    yield table
    notes = screen.bullets(
        f"{plural(item.applications, 'application')} with {plural(item.requests, 'request')} not locked: "
        f"{item.reason}."
        for item in lock.unlocked
    )
    if notes is not None:
        yield Text("")
        yield notes
