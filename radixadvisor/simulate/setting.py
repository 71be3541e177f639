"""What a user says of the server where the log does not."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """Tokens of KV per replica, clients at once, and replicas that take turns. None: not told."""

    capacity: int | None = None
    concurrency: int | None = None
    replicas: int | None = None
