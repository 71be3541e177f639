"""Hosted APIs by name: their caching rules, dated, from ``rules/hosted/*.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

from radixadvisor.errors import UnknownName
from radixadvisor.paths import data_dir

__all__ = ["HostedProfile", "provider", "providers"]

KINDS = ("prefix", "breakpoints", "units")


@dataclass(frozen=True, slots=True)
class HostedProfile:
    """How an API caches prompts. In tokens and seconds.

    Attributes:
        kind: ``prefix``: any earlier prefix; ``breakpoints``: prefixes that the client marks; ``units``: the
            ends of earlier prompts and outputs, and prefixes that two requests were seen to share.
        minimum, minimums: shortest prefix that is cached, by default and by (pattern of the model, tokens).
        step: hits beyond the minimum are multiples of this.
        lifetime, lifetimes: an entry dies if it is not used for so long; by default, and those on offer.
        max_age: it dies this long after it was written, used or not.
        lookback: content blocks before a breakpoint at which earlier entries are looked for.
        max_breakpoints: the last ones count if a request has more.
        route_tokens, per_minute: requests go by a hash of their first tokens and the client's key; so many a
            minute stay together, more spill over. 0: all requests meet the same cache.
        outputs: outputs are cached too.
        read_price: a token served, in prices of plain input; ``write_prices`` one written, by lifetime.
        keys_all, keys_messages: request parameters that are part of the key of the whole prompt, or of what
            stands behind the system prompt.
    """

    name: str
    source: str
    checked: str
    kind: str
    minimum: int
    step: int
    lifetime: float
    lifetimes: dict[str, float]
    outputs: bool
    minimums: tuple[tuple[re.Pattern[str], int], ...] = ()
    max_age: float = inf
    lookback: int = 0
    max_breakpoints: int = 0
    route_tokens: int = 0
    per_minute: int = 0
    notes: tuple[str, ...] = ()
    read_price: float = 1.0
    write_prices: dict[str, float] = field(default_factory=dict)
    keys_all: tuple[str, ...] = ()
    keys_messages: tuple[str, ...] = ()

    def minimum_for(self, model: str) -> int:
        """The shortest prefix that is cached for a model."""
        for pattern, tokens in self.minimums:
            if pattern.search(model.lower()):
                return tokens
        return self.minimum

    @property
    def keeps_alive(self) -> bool:
        """Whether an entry lives as long as it is used in time."""
        return self.max_age == inf

    def write_price(self, seconds: float) -> float:
        """What a token written for a lifetime costs: the price of the shortest one on offer that lasts."""
        lasting = [(length, name) for name, length in self.lifetimes.items() if length >= seconds]
        named = min(lasting)[1] if lasting else max(self.lifetimes, key=lambda name: self.lifetimes[name])
        return self.write_prices.get(named, 1.0)


@lru_cache(maxsize=1)
def providers() -> dict[str, HostedProfile]:
    """All hosted APIs, by name."""
    found = {}
    for path in sorted((data_dir("rules") / "hosted").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        table["checked"] = str(table["checked"])
        table["notes"] = tuple(table.get("notes", ()))
        table["minimums"] = tuple(
            (re.compile(row["match"]), row["tokens"]) for row in table.get("minimums", ())
        )
        prices, keys = table.pop("prices", {}), table.pop("keys", {})
        table["read_price"], table["write_prices"] = prices.get("read", 1.0), prices.get("write", {})
        table["keys_all"] = tuple(keys.get("all", ()))
        table["keys_messages"] = tuple(keys.get("messages", ()))
        if table["kind"] not in KINDS:
            raise ValueError(f"{path.name}: kind must be one of {', '.join(KINDS)}")
        profile = HostedProfile(**table)
        found[profile.name] = profile
    return found


def provider(name: str) -> HostedProfile:
    """A hosted API by its name, in any case.

    Raises:
        UnknownName: there is none; the message lists those that exist.
    """
    known = providers()
    if name.lower() not in known:
        raise UnknownName("provider", name, known)
    return known[name.lower()]
