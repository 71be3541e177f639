"""What a self-test finds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Ceiling", "Check", "Gain", "HostTier", "Rate", "SelfTest"]


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: ``error`` is the largest that was seen; nan where a result is no number."""

    name: str
    cases: int
    error: float
    tolerance: float
    detail: str = ""

    @property
    def passed(self) -> bool:
        """False for nan as well."""
        return self.error <= self.tolerance


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the device reached in bare operations: ``flops`` per second of a matrix product in ``dtype``,
    ``bandwidth`` in bytes per second, read and written, of a copy.
    """

    dtype: str
    flops: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Rate:
    """A phase on a model: tokens per second, and what share of the ceiling its arithmetic (prefill) or the
    bytes it reads (decode) come to.
    """

    model: str
    phase: str
    what: str
    tokens: float
    share: float


@dataclass(frozen=True, slots=True)
class Gain:
    """Prefill seconds without a cache over those with it, and the same ratio of FLOPs."""

    model: str
    shared: float
    seconds: float
    flops: float


@dataclass(frozen=True, slots=True)
class HostTier:
    """Seconds per token to load KV back from the host, and to compute it again."""

    loaded: int
    load: float
    compute: float


@dataclass(frozen=True, slots=True)
class SelfTest:
    """All of it. ``points`` are measured passes in the form that ``radixadvisor calibrate`` reads."""

    device: str
    device_name: str
    threads: int
    seconds: float
    checks: tuple[Check, ...]
    ceiling: Ceiling | None = None
    rates: tuple[Rate, ...] = ()
    gains: tuple[Gain, ...] = ()
    host: HostTier | None = None
    left_out: tuple[str, ...] = ()
    points: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every check did."""
        return all(check.passed for check in self.checks)
