"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass

__all__ = ["DEFAULT", "Patience", "retry_after"]

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers that may be otherwise a moment later."""

_JITTER = 0.25


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of one request.

    Attributes:
        timeout: seconds that one attempt may take, from connecting to its last byte.
        connect: seconds of it for connecting.
        retries: further attempts after the first.
        first_wait: seconds before the first of them; each further wait is twice as long.
        longest_wait: seconds that no wait exceeds, whatever a server asks for.
    """

    timeout: float = 120.0
    connect: float = 10.0
    retries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0

    def wait(self, attempt: int, asked: float | None, generator: random.Random) -> float:
        """Seconds to wait after failed attempt ``attempt`` (from 0): what the server asked for, else doubling
        times with some jitter, so that clients do not return together.
        """
        if asked is not None:
            return min(asked, self.longest_wait)
        wait = self.first_wait * 2.0 ** min(attempt, 20)
        return min(wait, self.longest_wait) * (1 + _JITTER * (2 * generator.random() - 1))


DEFAULT = Patience()


def retry_after(value: str | None) -> float | None:
    """Seconds in a ``Retry-After`` header; None without one, and for a date, whose clock is not ours."""
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
