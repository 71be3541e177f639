"""What can be asked of a replay, checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from radixengine.policy import POLICIES

from radixadvisor.errors import UnknownName, UsageError

__all__ = ["DEVICES", "DTYPES", "ReplayOptions"]

DEVICES = ("cpu", "cuda")
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """A replay. None leaves a choice to the log and the device.

    Attributes:
        device: ``cpu`` or ``cuda``.
        model: ``tiny``, a model of the catalogue, or a directory with weights.
        random_weights: take only the model's shape.
        dtype: precision of weights and KV; float32 on the CPU, bfloat16 elsewhere.
        backend: attention backend.
        threads: CPU threads.
        matrix: every policy, in every order of the prompts that can be made.
        shuffled: also with the sections of each prompt in a random order.
        policies: orders of the waiting queue to run; None for the one that hits most in the simulation.
        arrivals: at the log's times, ``speedup`` times faster; else ``concurrency`` clients that each send
            their next request when one ends. 1 serves strictly one request after the other.
        limit: requests to take, the first by arrival.
        scale: tokens that become one.
        max_new: output tokens per request at most.
        capacity: tokens of the KV pool.
        page: tokens per page.
        host_ratio: host tokens for each token of the pool; 0 for no host tier.
        repeat: how often each run is made; times are medians.
        tolerance: the logit gap up to which two tokens count as a tie.
        seed: for random weights, shuffled sections and random policies.
    """

    device: str = "cpu"
    model: str | None = None
    random_weights: bool = False
    dtype: str | None = None
    backend: str = "auto"
    threads: int | None = None
    matrix: bool = False
    shuffled: bool = False
    policies: tuple[str, ...] | None = None
    arrivals: bool = False
    speedup: float = 1.0
    concurrency: int | None = None
    limit: int | None = None
    scale: int | None = None
    max_new: int | None = None
    capacity: int | None = None
    page: int = 1
    host_ratio: float = 0.0
    repeat: int = 1
    tolerance: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises UsageError for a value that cannot work."""
        if self.device not in DEVICES:
            raise UnknownName("device", self.device, DEVICES)
        if self.dtype is not None and self.dtype not in DTYPES:
            raise UnknownName("precision", self.dtype, DTYPES)
        for policy in self.policies or ():
            if policy not in POLICIES:
                raise UnknownName("policy", policy, POLICIES)
        for name in ("concurrency", "limit", "scale", "max_new", "capacity", "page", "repeat", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}.")
        if self.capacity is not None and self.capacity < self.page:
            raise UsageError(f"A pool of {self.capacity} tokens is smaller than one page of {self.page}.")
        for name in ("host_ratio", "tolerance"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and isfinite(value)):
                raise UsageError(f"--{name.replace('_', '-')} must be 0 or above, not {value:g}.")
        if not (self.speedup > 0 and isfinite(self.speedup)):
            raise UsageError(
                f"--speedup must be above 0 (2 is twice as fast as the log), not {self.speedup:g}."
            )
        if self.speedup != 1 and not self.arrivals:
            raise UsageError("--speedup shortens the log's arrivals: give --arrivals too.")
        if self.arrivals and self.concurrency is not None:
            raise UsageError("--arrivals follows the log's times, --concurrency does not: give one of them.")
