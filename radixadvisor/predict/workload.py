"""The columns of a log that a prediction reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.simulate.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["Form", "Workload"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of the log: prompt ``lengths``, and ``cached`` tokens by engine when requests are served one
    after the other from an unlimited pool; both by arrival. ``requests``: the log itself, None if times are
    not wanted.
    """

    lengths: Counts
    cached: Mapping[str, Counts]
    requests: Requests | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A log: as given, and ``fixed`` by the prescriptions (None if there are none). ``outputs`` by arrival;
    ``span`` seconds from the first to the last arrival, None without times.
    """

    given: Form
    outputs: Counts
    span: float | None
    fixed: Form | None = None
