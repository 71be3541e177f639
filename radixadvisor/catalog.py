"""Models by name: which template and vocabulary a log's model uses, who serves it, what a token's KV weighs.

The tables are ``rules/models.toml``. Names are resolved here once, for everyone.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.paths import data_dir

__all__ = [
    "KV_BYTES",
    "SELF_HOSTED",
    "Family",
    "Gpu",
    "Model",
    "families",
    "family_of",
    "find_model",
    "gpu",
    "gpus",
    "model",
    "models",
    "pool_tokens",
]

SELF_HOSTED = "self"

KV_BYTES = {"bf16": 2, "fp16": 2, "fp8": 1, "fp32": 4, "int8": 1}
"""Bytes per stored KV value, by precision."""


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


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose shape is known. ``kv_bytes_per_token`` counts all layers in bfloat16, ``parameters`` all
    weights, embeddings included.
    """

    name: str
    pattern: re.Pattern[str]
    kv_bytes_per_token: int
    parameters: int
    source: str
    checked: str

    def kv_bytes(self, dtype: str) -> int:
        """Bytes of KV per token at a precision named in ``KV_BYTES``."""
        return self.kv_bytes_per_token * KV_BYTES[dtype.lower()] // KV_BYTES["bf16"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card. ``memory_gib`` is what it holds."""

    name: str
    memory_gib: float
    source: str
    checked: str


def _normal(name: str) -> str:
    """A model name in one spelling: lower case, ``v3p1`` as ``v3.1``, dashes for underscores and blanks."""
    return re.sub(r"(?<=\d)p(?=\d)", ".", re.sub(r"[_\s]+", "-", name.strip().lower()))


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return tomllib.loads((data_dir("rules") / "models.toml").read_text(encoding="utf-8"))


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
        for row in _tables()["family"]
    )


@lru_cache(maxsize=1)
def models() -> tuple[Model, ...]:
    """Every model whose shape is known, by name."""
    rows = (
        Model(
            name=row["name"],
            pattern=re.compile(row["match"]),
            kv_bytes_per_token=row["kv_bytes_per_token"],
            parameters=row["parameters"],
            source=row["source"],
            checked=row["checked"].isoformat(),
        )
        for row in _tables()["model"]
    )
    return tuple(sorted(rows, key=lambda entry: entry.name))


@lru_cache(maxsize=4096)
def family_of(model_name: str) -> Family:
    """The family of a model as a log names it (with any prefix of a vendor or a router)."""
    name = _normal(model_name)
    return next(family for family in families() if family.pattern.search(name))


@lru_cache(maxsize=4096)
def find_model(model_name: str) -> Model | None:
    """The model whose shape is known under this name, or None."""
    name = _normal(model_name)
    return next((entry for entry in models() if entry.pattern.search(name)), None)


def model(name: str) -> Model:
    """The model a user names as a target.

    Raises:
        UnknownName: its shape is not known.
    """
    found = find_model(name)
    if found is None:
        raise UnknownName("model", name, [entry.name for entry in models()])
    return found


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """Every card that is known, by name."""
    table = tomllib.loads((data_dir("rules") / "gpus.toml").read_text(encoding="utf-8"))
    rows = (
        Gpu(row["name"], row["memory_gib"], row["source"], row["checked"].isoformat()) for row in table["gpu"]
    )
    return tuple(sorted(rows, key=lambda card: card.name))


def gpu(name: str) -> Gpu:
    """A card by its name, or by the beginning of it, in any case (``h100-sxm``).

    Raises:
        UnknownName: no card, or more than one, goes by that name.
    """
    wanted = name.strip().lower()
    found = [card for card in gpus() if card.name.lower() == wanted]
    found = found or [card for card in gpus() if card.name.lower().startswith(wanted)]
    if len(found) != 1:
        raise UnknownName("GPU", name, [card.name for card in gpus()])
    return found[0]


def pool_tokens(target: Model, card: Gpu, *, kv_dtype: str = "bf16", memory_fraction: float = 0.88) -> int:
    """Tokens of KV that one card has room for beside the model's weights in bfloat16.

    ``memory_fraction`` is the share of the card that weights and KV may take together (SGLang's
    mem_fraction_static): pool = (memory x fraction - weights) / KV bytes per token.

    Raises:
        UsageError: the weights alone do not fit.
    """
    room = card.memory_gib * 2**30 * memory_fraction - 2 * target.parameters
    tokens = int(room // target.kv_bytes(kv_dtype))
    if tokens < 1:
        need = 2 * target.parameters / 2**30
        raise UsageError(
            f"{target.name} needs {need:.0f} GiB for its weights in bf16; {card.name} has "
            f"{card.memory_gib:.0f}. Name a larger card, or give the pool with --capacity TOKENS."
        )
    return tokens
