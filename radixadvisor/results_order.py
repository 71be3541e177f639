"""What an analysis says of the order of sections, lists and rows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BatchRow", "CanonicalRow", "OrderResult", "SectionOrder"]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Shares of the sections' text that a row shares with the one before it, rows sorted: ``single`` with the
    best single order of fields, ``grouped`` with an order per row (greedy groups). ``per_row``: the latter
    wins by 5 %.
    """

    single: float
    grouped: float
    per_row: bool


@dataclass(frozen=True, slots=True)
class SectionOrder:
    """The best order of the sections of one message of an application.

    ``exact``: no order is better (else it is the greedy one); ``greedy_ratio``: what the greedy order saves,
    as part of what this one saves. ``share_written`` and ``share_best``: the part of the sections' text that
    repeats an earlier beginning, as the prompts are and in this order.
    """

    application: str
    zone: str
    requests: int
    order: tuple[str, ...]
    exact: bool
    greedy_ratio: float
    share_written: float
    share_best: float
    batch: BatchRow | None


@dataclass(frozen=True, slots=True)
class CanonicalRow:
    """One order for lists whose items vary. ``way`` was chosen on one half of the log; ``shares``, per way,
    are the part of the lists' text in the other half that repeats an earlier beginning.
    """

    what: str
    lists: int
    way: str
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class OrderResult:
    """Hit rates of a cache without limits (page 1, outputs cached): as given, in the prescribed order when
    measured again, and in the best possible order. ``given``, ``found`` and ``possible`` are the same as
    tokens of the log as it is: what need not be computed.
    """

    rate_given: float
    rate_ordered: float
    rate_possible: float
    given: int
    found: int
    possible: int
    sections: tuple[SectionOrder, ...]
    lists: tuple[CanonicalRow, ...] = ()
