"""What a detector says: a rule, the place, the evidence, and the edit that would undo the fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from radixadvisor.diagnose.view import LogView
    from radixadvisor.records import EditSpec

__all__ = ["Candidate", "Detector", "Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault shows: request id, JSON path (``messages[0].content``), and characters ``start:end``
    there.
    """

    request_id: str
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A suspected fault.

    ``before`` and ``after`` are the two values at the first divergence (unmasked prompt text: reports mask
    and escape). ``requests`` holds the trace indices that show it. ``edit`` is None for an explanation
    without a text fix; then ``lost_tokens`` carries the measured loss.
    """

    rule: str
    title: str
    place: Place
    before: str
    after: str
    requests: tuple[int, ...]
    edit: EditSpec | None
    lost_tokens: int | None = None


Detector = Callable[["LogView"], Iterable[Candidate]]
"""A detector sees the whole log once and yields at most a few Candidates, one per application and cause."""
