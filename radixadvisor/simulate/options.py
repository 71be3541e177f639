"""What can be varied in a simulation, checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite

from radixengine.executor import Executor
from radixengine.host import WRITE_POLICIES

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.simulate.cost import LinearCost
from radixadvisor.simulate.profiles import RADIX, EngineProfile
from radixadvisor.simulate.requests import Requests

__all__ = ["Options", "capacity_of_blocks"]


@dataclass(frozen=True, slots=True)
class Options:
    """A what-if. None keeps the engine's own value.

    Attributes:
        capacity: tokens of KV per replica; None for a pool that never fills.
        page: tokens per page (block).
        policy, evict: order of the waiting queue; eviction policy.
        concurrency: clients that each send their next request when one ends; 1 serves strictly one request
            after the other, without reservations or chunks. None follows the log's arrivals, or is 1 for a
            log that has none.
        speedup: the log's time passes this many times faster.
        replicas, route: engines with a pool of their own each, and the router before them.
        host_ratio, host_write: host tier in tokens per device token, and when nodes are copied there.
        external_rate: tokens per second that a third tier delivers; 0 for none.
        pin: tokens of the heaviest branches that stay resident.
        prompt_only: outputs stay out of the cache.
        sampled: the log holds this share of the traffic.
        seed: for random choices.
        cost: seconds per batch.
    """

    capacity: int | None = None
    page: int | None = None
    policy: str | None = None
    evict: str | None = None
    concurrency: int | None = None
    speedup: float = 1.0
    replicas: int = 1
    route: str = "round-robin"
    host_ratio: float = 0.0
    host_write: str = "write_through"
    external_rate: float = 0.0
    pin: int = 0
    prompt_only: bool = False
    sampled: float | None = None
    seed: int = 0
    cost: Executor = field(default_factory=LinearCost)

    def __post_init__(self) -> None:
        """Raises UsageError for a value that cannot work."""
        _at_least_one("capacity", self.capacity, "tokens; leave it out for an unlimited pool")
        _at_least_one("page", self.page, "tokens")
        _at_least_one("concurrency", self.concurrency, "requests; leave it out to follow the log's arrivals")
        _at_least_one("replicas", self.replicas, "engines")
        if not (self.speedup > 0 and isfinite(self.speedup)):
            raise UsageError(
                f"speedup must be above 0 (2 is twice as fast as the log), not {self.speedup:g}."
            )
        if self.sampled is not None and not 0 < self.sampled <= 1:
            raise UsageError(
                f"sampled is the share of the traffic in the log: above 0, at most 1, not {self.sampled:g}."
            )
        if self.pin < 0:
            raise UsageError(f"pin is a number of tokens: 0 (off) or above, not {self.pin}.")
        _zero_or_more("host ratio", self.host_ratio, "host tokens for each token of the pool")
        _zero_or_more("external rate", self.external_rate, "tokens per second")
        if self.host_write not in WRITE_POLICIES:
            raise UnknownName("host write policy", self.host_write, WRITE_POLICIES)
        if self.external_rate and not self.host_ratio:
            raise UsageError("An external tier is read through the host tier: give a host ratio above 0 too.")
        if self.capacity is not None and self.pin >= self.capacity:
            raise UsageError(f"{self.pin} pinned tokens leave nothing of a pool of {self.capacity}.")

    def applied_to(self, profile: EngineProfile, unit: int = 1) -> EngineProfile:
        """The engine as these options change it; pages become whole units.

        Raises:
            UsageError: the engine cannot do that, or not even one page fits the pool.
        """
        profile = profile.with_page(self.page).with_policy(self.policy).with_evict(self.evict)
        profile = profile.with_page(-(-profile.page // unit) * unit)
        chunk = profile.scheduler.chunk_tokens
        if chunk is not None and profile.scheduler.align_chunks and profile.page > chunk:
            raise UsageError(
                f"{profile.name} computes at most {chunk} tokens of prompt in a step: a page holds 1 to "
                f"{chunk} tokens, not {profile.page}."
            )
        if self.host_ratio:
            profile = profile.with_radix(
                host_ratio=self.host_ratio, host_write=self.host_write, external_rate=self.external_rate
            )
        if self.pin and profile.cache != RADIX:
            profile.with_radix(pinning=True)
        if self.capacity is not None and self.capacity < profile.page:
            raise UsageError(f"A pool of {self.capacity} tokens is smaller than one page of {profile.page}.")
        scheduler = replace(profile.scheduler, seed=self.seed, cache_prompt_only=self.prompt_only)
        return replace(profile, scheduler=scheduler)

    def clients(self, requests: Requests) -> int | None:
        """The concurrency that applies to a log; None if it is served at its own arrivals."""
        if self.concurrency is None and requests.arrivals is None:
            return 1
        return self.concurrency


def capacity_of_blocks(num_gpu_blocks: int, block: int) -> int:
    """Usable tokens of a vLLM pool whose ``num_gpu_blocks`` count the null block.

    Raises:
        UsageError: nothing is left beside the null block.
    """
    if num_gpu_blocks < 2:
        raise UsageError(f"num_gpu_blocks counts the null block: at least 2, not {num_gpu_blocks}.")
    return (num_gpu_blocks - 1) * block


def _at_least_one(name: str, value: int | None, what: str) -> None:
    if value is not None and value < 1:
        raise UsageError(f"{name} must be at least 1 ({what}), not {value}.")


def _zero_or_more(name: str, value: float, what: str) -> None:
    if not (value >= 0 and isfinite(value)):
        raise UsageError(f"{name} must be 0 (off) or above ({what}), not {value:g}.")
