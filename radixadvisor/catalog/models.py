"""Models whose shape is known: those of ``rules/models.toml``, and any with a ``config.json`` of its own."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from radixadvisor.catalog.config_json import read_config
from radixadvisor.catalog.precision import KV_BYTES, WEIGHT_BYTES
from radixadvisor.catalog.shapes import Shape
from radixadvisor.errors import UnknownName
from radixadvisor.paths import data_dir

__all__ = ["Model", "find_model", "model", "models", "normal_name", "tables"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose shape is known.

    ``weights`` and ``expert_weights`` name the precision of what its publisher ships; ``published`` is the
    parameter count as published, None if unknown; ``unverified`` says what was not read at the source,
    ``note`` what else has to be said; both None for nothing.
    """

    name: str
    pattern: re.Pattern[str] | None
    shape: Shape
    weights: str
    expert_weights: str
    published: float | None
    unverified: str | None
    note: str | None
    source: str
    checked: str | None

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of KV per token, all layers, in bfloat16."""
        return self.kv_bytes("bf16")

    @property
    def parameters(self) -> int:
        """All weights, embeddings included."""
        return self.shape.parameters

    def kv_bytes(self, dtype: str) -> int:
        """Bytes of KV per token at a precision named in ``KV_BYTES``."""
        return self.shape.layers * self.shape.kv_values * KV_BYTES[dtype.lower()]

    def weight_bytes(self, dtype: str | None = None) -> float:
        """Bytes of all weights at a precision named in ``WEIGHT_BYTES``; None: as published."""
        rest, experts = self.bytes_per_weight(dtype)
        return self.shape.dense_params * rest + self.shape.all_experts_params * experts

    def bytes_per_weight(self, dtype: str | None = None) -> tuple[float, float]:
        """Bytes per weight outside the routed experts, and in them."""
        if dtype is not None:
            return WEIGHT_BYTES[dtype.lower()], WEIGHT_BYTES[dtype.lower()]
        return WEIGHT_BYTES[self.weights], WEIGHT_BYTES[self.expert_weights]


def normal_name(name: str) -> str:
    """A model name in one spelling: lower case, ``v3p1`` as ``v3.1``, dashes for underscores and blanks."""
    return re.sub(r"(?<=\d)p(?=\d)", ".", re.sub(r"[_\s]+", "-", name.strip().lower()))


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """``rules/models.toml``."""
    return tomllib.loads((data_dir("rules") / "models.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def models() -> tuple[Model, ...]:
    """Every model of the table, by name."""
    return tuple(sorted(map(_parse, tables()["model"]), key=lambda entry: entry.name))


def _parse(row: dict[str, Any]) -> Model:
    return Model(
        name=row["name"],
        pattern=re.compile(row["match"]),
        shape=Shape(**row["shape"]),
        weights=row.get("weights", "bf16"),
        expert_weights=row.get("expert_weights", row.get("weights", "bf16")),
        published=row["published_billions"] * 1e9,
        unverified=row.get("unverified"),
        note=row.get("note"),
        source=row["source"],
        checked=row["checked"].isoformat(),
    )


@lru_cache(maxsize=4096)
def find_model(model_name: str) -> Model | None:
    """The model whose shape is known under this name, or None."""
    name = normal_name(model_name)
    return next((entry for entry in models() if entry.pattern and entry.pattern.search(name)), None)


def model(name: str) -> Model:
    """The model a user names as a target: by name, or by a folder with its ``config.json``.

    Raises:
        UnknownName: its shape is not known.
        UsageError: the folder's configuration cannot be used.
    """
    exact = next((entry for entry in models() if entry.name == normal_name(name)), None)
    if exact is not None:
        return exact
    path = Path(name).expanduser()
    if path.is_dir() or (path.is_file() and path.suffix == ".json"):
        found = read_config(path)
        return Model(
            found.name,
            None,
            found.shape,
            found.weights,
            found.expert_weights,
            published=None,
            unverified=None,
            note=found.note,
            source=f"config.json in {path}" if path.is_dir() else str(path),
            checked=None,
        )
    known = find_model(name)
    if known is None:
        raise UnknownName("model", name, [entry.name for entry in models()])
    return known
