"""The plain data of a check."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.analysis.saved import SavedFinding
from radixadvisor.records import Source

__all__ = ["FAIL", "PASS", "SKIP", "Checked", "Gate"]

PASS, FAIL, SKIP = "PASS", "FAIL", "SKIP"

EXIT_HELD, EXIT_FAILED, EXIT_NOT_EVALUATED = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition.

    ``name`` says what is judged; ``value`` is None where that could not be evaluated, which is a ``SKIP``.
    ``unit``: ``rate`` and ``share`` are fractions, ``points`` fractions of a hit rate, ``tokens``,
    ``findings`` and ``applications`` counts. ``floor`` is True where the value must reach the threshold, else
    it must not exceed it. ``findings`` are those that break the gate, ``source`` is where else that shows.
    """

    name: str
    value: float | None
    threshold: float
    unit: str
    floor: bool
    status: str
    reason: str
    findings: tuple[SavedFinding, ...] = ()
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """All gates of a check, and what else has to be said."""

    gates: tuple[Gate, ...]
    notes: tuple[str, ...] = ()

    def count(self, status: str) -> int:
        """How many gates have a status."""
        return sum(gate.status == status for gate in self.gates)

    @property
    def exit_code(self) -> int:
        """1 if a gate failed, else 3 if one could not be evaluated, else 0."""
        if self.count(FAIL):
            return EXIT_FAILED
        return EXIT_NOT_EVALUATED if self.count(SKIP) or not self.gates else EXIT_HELD
