"""Decoders that the bundled engine can run by their shape, from ``rules/shapes.toml``."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from radixengine.shapes import TINY, ModelShape

from radixadvisor import catalog
from radixadvisor.paths import data_dir

__all__ = ["find_shape", "shapes"]


@lru_cache(maxsize=1)
def shapes() -> dict[str, ModelShape]:
    """Every shape by the name of its model, the tiny one first."""
    table = tomllib.loads((data_dir("rules") / "shapes.toml").read_text(encoding="utf-8"))
    found = {TINY.name: TINY}
    for row in table["shape"]:
        dimensions = {key: value for key, value in row.items() if key not in ("source", "checked")}
        found[row["name"]] = ModelShape(**dimensions)
    return found


def find_shape(name: str) -> ModelShape | None:
    """The shape of a model as a user or a log names it; None if it is not known, or not one to run here."""
    if name.lower() == TINY.name:
        return TINY
    entry = catalog.find_model(name)
    return None if entry is None else shapes().get(entry.name)
