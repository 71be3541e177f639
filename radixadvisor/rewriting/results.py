"""What a rewrite did, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.results import Prescription

__all__ = ["Change", "Left", "Rewrite"]


@dataclass(frozen=True, slots=True)
class Change:
    """One fix in the rewritten log: ``requests`` it changed; the first of them, and the ``before`` and
    ``after`` texts of its first message that differs (prompt text: reports mask and escape it).
    """

    prescription: Prescription
    requests: int
    request_id: str
    place: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Left:
    """What was asked for and not done, or could be done and was not asked for; ``reason`` is a sentence."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewritten log.

    ``requests`` of the log, ``changed`` of them; ``skipped`` records went through as they are (not at all
    where the ``dialect`` differs from ``read``, for the reason ``why``). ``prompt_tokens`` and ``served``
    (by sglang from a pool that never fills) before and after.
    """

    file: str
    read: str
    dialect: str
    why: str
    requests: int
    changed: int
    skipped: int
    changes: tuple[Change, ...]
    left: tuple[Left, ...]
    prompt_tokens: tuple[int, int]
    served: tuple[int, int]

    @property
    def rates(self) -> tuple[float, float]:
        """Hit rates before and after."""
        before, after = (
            hit / max(total, 1) for hit, total in zip(self.served, self.prompt_tokens, strict=True)
        )
        return before, after
