"""How one engine version's radix cache behaves, by value."""

from __future__ import annotations

from dataclasses import dataclass

from radixengine.evict import eviction_rank
from radixengine.host import WRITE_POLICIES


@dataclass(frozen=True, slots=True)
class RadixProfile:
    """The defaults are SGLang 0.5.23.

    ``whole_node``: eviction frees whole nodes, else just the pages needed. ``shortfall``: it frees what is
    missing, else the full amount asked for. ``refresh_tail``, ``inherit_creation``: see RadixTree.
    ``recompute_last``: the last prompt token is always computed. ``prompt_only``: outputs are not cached.

    ``host_ratio``: host tokens per device token, 0 for no host tier. ``external_rate``: tokens per second
    read from a third tier, 0 for none. Fewer than ``load_back_minimum`` host tokens are computed again, fewer
    than ``prefetch_minimum`` external ones are not fetched; a prefetch is cut after ``prefetch_timeout``
    seconds plus ``prefetch_timeout_per_token`` for each of its tokens.
    """

    page_size: int = 1
    evict: str = "lru"
    whole_node: bool = True
    shortfall: bool = True
    refresh_tail: bool = True
    inherit_creation: bool = True
    recompute_last: bool = True
    prompt_only: bool = False
    host_ratio: float = 0.0
    host_write: str = "write_through"
    load_back_minimum: int = 10
    external_rate: float = 0.0
    prefetch_minimum: int = 256
    prefetch_timeout: float = 1.0
    prefetch_timeout_per_token: float = 0.00025

    def __post_init__(self) -> None:
        eviction_rank(self.evict)
        if self.page_size < 1:
            raise ValueError(f"Page size must be at least 1 token, got {self.page_size}.")
        if self.host_write not in WRITE_POLICIES:
            known = ", ".join(sorted(WRITE_POLICIES))
            raise ValueError(f"Unknown host write policy {self.host_write!r}. Known: {known}.")
        if self.host_ratio < 0 or self.external_rate < 0:
            raise ValueError("The host ratio and the external tier's rate cannot be negative.")
        if self.host_ratio and not self.whole_node:
            raise ValueError("A host tier keeps whole nodes; it cannot go with page-wise eviction.")
        if self.external_rate and not self.host_ratio:
            raise ValueError("An external tier is read through the host tier; give a host ratio too.")
