"""Families of models: which template and vocabulary stand for a name that a log holds, and who serves it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from radixadvisor.catalog.models import normal_name, tables

__all__ = ["SELF_HOSTED", "Family", "families", "family_of"]

SELF_HOSTED = "self"


@dataclass(frozen=True, slots=True)
class Family:
    """Models that share a chat template and a vocabulary.

    ``provider`` is ``self`` for open weights, else the name of the API that serves the model. ``assumption``
    says what stands in where the real template or vocabulary is not public or not built in; None otherwise.
    """

    name: str
    pattern: re.Pattern[str]
    template: str
    vocabulary: str
    provider: str
    assumption: str | None
    source: str
    checked: str

    @property
    def known(self) -> bool:
        return self.name != "unknown"


@lru_cache(maxsize=1)
def families() -> tuple[Family, ...]:
    """Every family in the order in which names are tried; the last one, ``unknown``, takes any name."""
    return tuple(
        Family(
            name=row["name"],
            pattern=re.compile(row["match"]),
            template=row["template"],
            vocabulary=row["vocabulary"],
            provider=row["provider"],
            assumption=row.get("assumption"),
            source=row["source"],
            checked=row["checked"].isoformat(),
        )
        for row in tables()["family"]
    )


@lru_cache(maxsize=4096)
def family_of(model_name: str) -> Family:
    """The family of a model as a log names it (with any prefix of a vendor or a router)."""
    name = normal_name(model_name)
    return next(family for family in families() if family.pattern.search(name))
