"""How the engine is to serve: cache, pool, scheduler and backend, by value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from radixengine.config import SchedulerConfig
from radixengine.host import host_tokens
from radixengine.profile import RadixProfile

CacheKind = Literal["radix", "blocks", "none"]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """One engine.

    Args:
        capacity: tokens of the KV pool, rounded down to whole pages.
        cache: ``radix`` (the tree), ``blocks`` (vLLM's hashed blocks; the scheduler must be
            ``visible_at_schedule``) or ``none`` (nothing is reused).
        profile: rules of the radix cache; its ``page_size`` holds for every kind of cache, ``host_ratio``
            above 0 adds a host tier that moves real KV.
        scheduler: how batches are formed.
        backend: attention, see ``radixengine.attention``; ``auto`` takes the fastest for the device.
        threads: CPU threads; None tries 1 and 2 on the model at hand and takes the faster.
        debug: recount every slot of pool, tree, table and host after every step.

    Raises:
        ValueError: a combination that no engine can serve.
    """

    capacity: int
    cache: CacheKind = "radix"
    profile: RadixProfile = field(default_factory=RadixProfile)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    backend: str = "auto"
    threads: int | None = None
    debug: bool = False

    def __post_init__(self) -> None:
        if self.cache not in ("radix", "blocks", "none"):
            raise ValueError(f"Unknown cache {self.cache!r}. Known: blocks, none, radix.")
        if self.capacity < self.profile.page_size:
            page = self.profile.page_size
            raise ValueError(f"The pool must hold a page of {page} tokens, got {self.capacity}.")
        if self.profile.external_rate:
            raise ValueError("The engine has a device and a host tier; an external tier is only simulated.")
        if self.profile.host_ratio and self.cache != "radix":
            raise ValueError(f"Only the radix cache has a host tier, not {self.cache!r}.")
        if self.profile.host_ratio and not host_tokens(self.capacity, self.profile):
            raise ValueError(
                f"A host tier of {self.profile.host_ratio} x {self.capacity} tokens holds no page."
            )
        visible = self.scheduler.visible_at_schedule
        if self.cache != "none" and (self.cache == "blocks") != visible:
            raise ValueError(
                "Blocks are visible when they are scheduled, the radix tree's nodes once they are computed: "
                "cache 'blocks' goes with visible_at_schedule, 'radix' without."
            )
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"The engine needs at least one thread, got {self.threads}.")
