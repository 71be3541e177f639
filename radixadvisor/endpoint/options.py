"""What can be asked of a replay against a server, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from radixadvisor.endpoint.patience import DEFAULT, Patience
from radixadvisor.errors import UsageError

__all__ = ["EndpointOptions"]


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """A replay against a server.

    Attributes:
        url: where it listens, with or without ``/v1``.
        key: a bearer token, shown nowhere.
        model: the model to ask for; None for the only one served, else the log's.
        clients: requests in flight; None follows the log's arrivals.
        speedup: how much faster than the log arrivals follow each other.
        limit: requests to send, the first by arrival.
        max_new: output tokens per request at most.
        patience: time limits and retries.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    clients: int | None = 1
    speedup: float = 1.0
    limit: int | None = None
    max_new: int = 16
    patience: Patience = DEFAULT

    def __post_init__(self) -> None:
        """Raises UsageError for a value that cannot work."""
        for name, shown in (("clients", "concurrency"), ("limit", "limit"), ("max_new", "max-new")):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{shown} must be at least 1, not {value}.")
        if not (self.speedup > 0 and isfinite(self.speedup)):
            raise UsageError(
                f"--speedup must be above 0 (2 is twice as fast as the log), not {self.speedup:g}."
            )
        if not (self.patience.timeout > 0 and isfinite(self.patience.timeout)):
            raise UsageError(f"--timeout must be above 0 seconds, not {self.patience.timeout:g}.")
        if self.patience.retries < 0:
            raise UsageError(f"--retries must be 0 or more, not {self.patience.retries}.")
