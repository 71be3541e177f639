"""Figures that others published, from ``rules/published.toml``, to set beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from radixadvisor.paths import data_dir
from radixadvisor.predict.results import Reference

__all__ = ["references"]


def references(ours: Mapping[str, float | None]) -> tuple[Reference, ...]:
    """Every published figure, each with this workload's own of the same kind where there is one."""
    table = tomllib.loads((data_dir("rules") / "published.toml").read_text(encoding="utf-8"))
    return tuple(
        Reference(
            name=row["name"],
            value=float(row["value"]),
            unit=row["unit"],
            text=row["text"],
            ours=ours.get(row["ours"]),
            source=row["source"],
            checked=row["checked"].isoformat(),
        )
        for row in table["figure"]
    )
