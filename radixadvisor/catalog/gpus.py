"""Cards by name, from ``rules/gpus.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from radixadvisor.errors import UnknownName
from radixadvisor.paths import data_dir

__all__ = ["Gpu", "gpu", "gpus"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card: what it holds in GiB, dense peaks in TFLOPS without sparsity (``fp8_tflops`` None for a card
    without such units), and bandwidths in GB/s: memory, host link one way, and to the next card one way.

    ``short`` is a name that means this card among several of its kind, ``unverified`` says what was not read
    at the source, ``note`` what else has to be said; None for nothing.
    """

    name: str
    memory_gib: float
    bandwidth_gbps: float
    bf16_tflops: float
    fp8_tflops: float | None
    pcie_gbps: float
    link_gbps: float
    short: str | None
    unverified: str | None
    note: str | None
    source: str
    checked: str

    def flops(self, weights: str) -> float:
        """Dense peak in FLOP/s for weights of a precision: that of FP8 only for FP8 on a card that has it."""
        fast = self.fp8_tflops if weights == "fp8" else None
        return (fast or self.bf16_tflops) * 1e12


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """Every card that is known, by name."""
    table = tomllib.loads((data_dir("rules") / "gpus.toml").read_text(encoding="utf-8"))
    optional = {"fp8_tflops": None, "short": None, "unverified": None, "note": None}
    rows = (Gpu(**{**optional, **row, "checked": row["checked"].isoformat()}) for row in table["gpu"])
    return tuple(sorted(rows, key=lambda card: card.name))


def gpu(name: str) -> Gpu:
    """A card by its name, by the beginning of it (``h100-sxm``), or by its common short name, in any case.

    Raises:
        UnknownName: no card, or more than one, goes by that name.
    """
    wanted = name.strip().lower()
    named = {card: card.name.lower() for card in gpus()}
    for found in (
        [card for card, full in named.items() if wanted in (full, card.short)],
        [card for card, full in named.items() if full.startswith(f"{wanted}-")],
        [card for card, full in named.items() if full.startswith(wanted)],
    ):
        if len(found) == 1:
            return found[0]
    raise UnknownName("GPU", name, [card.name for card in gpus()])
