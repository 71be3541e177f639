"""What each dialect can answer and how to get such a log; the texts stand in ``rules/formats.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from radixadvisor.paths import data_dir

from .dialects import by_name, registry

__all__ = ["Entry", "entries", "entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A log format for people: what a log of it tells, an example line, the settings that produce it.

    ``missing`` says what logs of it may lack, empty where they lack nothing.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    answers: tuple[str, ...]
    example: str
    how: str
    missing: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@cache
def _texts() -> dict[str, Any]:
    with (data_dir("rules") / "formats.toml").open("rb") as file:
        return tomllib.load(file)


def entry(name: str) -> Entry:
    """The entry of a dialect; raises UnknownName."""
    dialect = by_name(name)
    text = _texts().get(dialect.name, {})
    return Entry(
        name=dialect.name,
        title=dialect.title,
        aliases=dialect.aliases,
        answers=tuple(text.get("answers", ())),
        example=text.get("example", ""),
        how=text.get("how", ""),
        missing=dialect.missing,
    )


def entries() -> list[Entry]:
    """Every dialect, in alphabetical order."""
    return [entry(name) for name in registry()]
