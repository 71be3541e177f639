"""Engines by name: cache rules and scheduler of one version each, from ``rules/engines/*.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from radixengine.blocks import BlockCache
from radixengine.cache import PrefixCache
from radixengine.config import Reservation, SchedulerConfig
from radixengine.evict import EVICTION
from radixengine.no_cache import NoCache
from radixengine.policy import POLICIES
from radixengine.profile import RadixProfile
from radixengine.radix_cache import RadixCache

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.paths import data_dir

__all__ = ["EngineProfile", "engine", "engines"]

RADIX, BLOCKS, NONE = "radix", "blocks", "none"


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """One version of an engine. ``cache`` is ``radix``, ``blocks`` (a hash per full block) or ``none``;
    ``bypass`` names features of requests that never look it up.
    """

    name: str
    version: str
    source: str
    checked: str
    cache: str
    page: int
    evict: str
    scheduler: SchedulerConfig
    partial_reuse: bool = False
    bypass: tuple[str, ...] = ()
    radix: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises ValueError if the scheduler would match blocks that it allocates only later in the step."""
        if self.cache == BLOCKS and not self.scheduler.visible_at_schedule:
            raise ValueError(f"{self.name}: a block cache shows its blocks when they are allocated")

    def build(self, capacity: int) -> PrefixCache:
        """An empty cache that can hold ``capacity`` tokens, in whole pages."""
        if self.cache == NONE:
            return NoCache(capacity, self.page)
        if self.cache == BLOCKS:
            # One block more is the null block, which holds nothing.
            return BlockCache(capacity // self.page + 1, self.page, partial_reuse=self.partial_reuse)
        return RadixCache(capacity, RadixProfile(page_size=self.page, evict=self.evict, **self.radix))

    def with_page(self, page: int | None) -> EngineProfile:
        """The same engine with another page (block) size in tokens."""
        if page is None:
            return self
        if page < 1:
            raise UsageError(f"A page holds at least 1 token, not {page}; the default here is {self.page}.")
        return replace(self, page=page)

    def with_policy(self, policy: str | None) -> EngineProfile:
        """The same engine with another order of the waiting queue."""
        if policy is None:
            return self
        if policy not in POLICIES:
            raise UnknownName("policy", policy, POLICIES)
        return replace(self, scheduler=replace(self.scheduler, policy=policy))

    def with_evict(self, evict: str | None) -> EngineProfile:
        """The same engine with another eviction policy."""
        if evict is None or evict == self.evict:
            return self
        if evict not in EVICTION:
            raise UnknownName("eviction policy", evict, EVICTION)
        if self.cache != RADIX:
            raise UsageError(f"{self.name} evicts {self.evict} only; {_radix_engines()} can be given others.")
        return replace(self, evict=evict)

    def with_radix(self, **flags: Any) -> EngineProfile:
        """The same radix engine with other flags of ``radixengine.profile.RadixProfile``."""
        if self.cache != RADIX:
            raise UsageError(
                f"{self.name} has no {', '.join(sorted(flags))}; {_radix_engines()} can do that."
            )
        return replace(self, radix={**self.radix, **flags})


@lru_cache(maxsize=1)
def engines() -> dict[str, EngineProfile]:
    """All engines, by name."""
    found = {}
    for path in sorted((data_dir("rules") / "engines").glob("*.toml")):
        profile = _parse(tomllib.loads(path.read_text(encoding="utf-8")))
        found[profile.name] = profile
    return found


def engine(name: str) -> EngineProfile:
    """An engine by its name, in any case.

    Raises:
        UnknownName: there is none; the message lists those that exist.
    """
    known = engines()
    if name.lower() not in known:
        raise UnknownName("engine", name, known)
    return known[name.lower()]


def _parse(table: dict[str, Any]) -> EngineProfile:
    rule = table.pop("reservation", None)
    reservation = Reservation(**rule) if rule is not None else None
    scheduler = SchedulerConfig(reservation=reservation, **table.pop("scheduler"))
    table["bypass"] = tuple(table.get("bypass", ()))
    return EngineProfile(checked=str(table.pop("checked")), scheduler=scheduler, **table)


def _radix_engines() -> str:
    return ", ".join(sorted(name for name, profile in engines().items() if profile.cache == RADIX))
