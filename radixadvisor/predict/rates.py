"""How far engines get of a card's peaks, and what a pass costs beside them, from ``rules/cost.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from radixadvisor.errors import UsageError
from radixadvisor.paths import data_dir

__all__ = ["Rates", "cost_table", "default_rates", "highest_load", "planned_load", "rate_corners"]

_NAMES = ("mfu", "mbu", "step_overhead", "link_efficiency", "pcie_efficiency")


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of a card's peaks that are reached, in (0, 1], and what a pass costs beside them.

    ``mfu``: of the dense peak; ``mbu``: of the memory bandwidth; ``link_efficiency``, ``pcie_efficiency``: of
    the links to other cards and to the host; ``step_overhead``: seconds per forward pass.

    Raises:
        UsageError: a value cannot be.
    """

    mfu: float
    mbu: float
    step_overhead: float
    link_efficiency: float
    pcie_efficiency: float

    def __post_init__(self) -> None:
        for name in ("mfu", "mbu", "link_efficiency", "pcie_efficiency"):
            if not 0 < getattr(self, name) <= 1:
                raise UsageError(f"{name} is a share: above 0, at most 1, not {getattr(self, name):g}.")
        if not 0 <= self.step_overhead <= 10:
            raise UsageError(f"The overhead of a step is 0 to 10 seconds, not {self.step_overhead:g}.")


@lru_cache(maxsize=1)
def cost_table() -> dict[str, dict[str, Any]]:
    """``rules/cost.toml``: per name ``value``, ``low``, ``high``, ``source``, ``checked``."""
    return tomllib.loads((data_dir("rules") / "cost.toml").read_text(encoding="utf-8"))


def default_rates() -> Rates:
    """What is assumed where nothing was measured."""
    return Rates(*(cost_table()[name]["value"] for name in _NAMES))


def rate_corners() -> tuple[Rates, ...]:
    """The plausible extremes: compute and memory each slow and fast, with little and much overhead."""
    table = cost_table()
    ends = ("low", "high")
    return tuple(
        Rates(
            mfu=table["mfu"][compute],
            mbu=table["mbu"][memory],
            step_overhead=table["step_overhead"][overhead],
            link_efficiency=table["link_efficiency"][memory],
            pcie_efficiency=table["pcie_efficiency"][memory],
        )
        for compute in ends
        for memory in ends
        for overhead in ends
    )


def planned_load() -> float:
    """The share of its capacity at which a replica is planned to run."""
    return float(cost_table()["utilisation"]["value"])


def highest_load() -> float:
    """The share of its capacity above which no time to first token is told."""
    return float(cost_table()["utilisation"]["high"])
