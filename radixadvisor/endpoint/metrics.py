"""Prometheus counters of a server's prefix cache, before and after."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTERS", "CacheCounters", "read_counters"]

COUNTERS: tuple[tuple[str, str, bool], ...] = (
    ("vllm:prefix_cache_hits", "vllm:prefix_cache_queries", True),
    ("vllm:gpu_prefix_cache_hits", "vllm:gpu_prefix_cache_queries", True),
    ("sglang:cached_tokens", "sglang:prompt_tokens", True),
    ("llamacpp:prompt_tokens_cached", "llamacpp:prompt_tokens", False),
)
"""Counter of tokens hit, counter of tokens asked for, and whether the second includes the first.

Servers add ``_total`` to these names or leave it out, depending on their version.
"""


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """Tokens since the server started: found in its cache, and asked for altogether; and the counters that
    say so, without ``_total``.
    """

    hit_name: str
    prompt_name: str
    hits: float
    prompt: float

    def since(self, before: CacheCounters) -> CacheCounters | None:
        """What was counted in between; None if the server was started anew."""
        hits, prompt = self.hits - before.hits, self.prompt - before.prompt
        return (
            None if hits < 0 or prompt < 0 else CacheCounters(self.hit_name, self.prompt_name, hits, prompt)
        )


def read_counters(text: str) -> CacheCounters | None:
    """The counters in a page of metrics, summed over labels; None if it has none that are known."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        head, brace, rest = line.partition("{")
        if brace:
            head, rest = head.strip(), rest.rpartition("}")[2]
        else:
            head, _, rest = line.strip().partition(" ")
        try:
            value = float(rest.split()[0])
        except (IndexError, ValueError):
            continue
        name = head.removesuffix("_total")
        sums[name] = sums.get(name, 0.0) + value
    for hits, asked, inside in COUNTERS:
        if hits in sums and asked in sums:
            found = sums[hits]
            if inside:
                return CacheCounters(hits, asked, found, sums[asked])
            return CacheCounters(hits, f"{asked} + {hits}", found, sums[asked] + found)
    return None
