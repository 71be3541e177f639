"""What a scheduler needs from a prefix cache, whichever engine it models.

Ownership: between ``match`` and ``finish`` / ``retract`` a request owns a lock on its matched path and the
slots it was given beyond that path. At every step ``free + evictable + protected + held == total``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

TOKEN_BYTES = 4


class Match(NamedTuple):
    """Tokens found for a request: on the device, and further ones that a host tier could load back."""

    device: int
    host: int


class Occupancy(NamedTuple):
    """Where the pool's tokens are. ``free + evictable + protected + held == total``."""

    free: int
    evictable: int
    protected: int
    held: int
    total: int


@dataclass(slots=True, eq=False)
class Sequence:
    """A request as the cache sees it.

    ``prompt`` and ``output`` are packed int32. ``computed`` counts the tokens that have KV (matched ones
    included); ``bypass``: a block cache looks nothing up for it, though it fills the cache; ``state`` belongs
    to the cache that serves the sequence.
    """

    rid: int
    prompt: bytes
    output: bytes = b""
    namespace: str = ""
    priority: int = 0
    computed: int = 0
    cache_prompt_only: bool = False
    bypass: bool = False
    state: Any = field(default=None, repr=False)

    @property
    def prompt_len(self) -> int:
        """Prompt tokens."""
        return len(self.prompt) // TOKEN_BYTES

    @property
    def output_len(self) -> int:
        """Output tokens, the last sampled one included."""
        return len(self.output) // TOKEN_BYTES


class PrefixCache(Protocol):
    """A finite KV cache with prefix reuse."""

    page_size: int
    capacity: int

    @property
    def evicted(self) -> int:
        """Tokens evicted from the device so far."""

    def occupancy(self) -> Occupancy:
        """Count where every token of the pool is."""

    def peek(self, seq: Sequence) -> Match:
        """Look up without any side effect: no split, no refresh, no lock."""

    def match(self, seq: Sequence) -> Match:
        """Look up as the engine does at admission (splits, refreshes) and lock the matched path."""

    def unlock(self, seq: Sequence) -> None:
        """Undo ``match`` for a sequence that was not admitted; splits and refreshes stay."""

    def prefetch(self, seq: Sequence) -> float:
        """At arrival: bring tokens from an external tier to the host; the seconds it takes, else 0.0."""

    def load_back(self, seq: Sequence, quota: int | None = None) -> int:
        """After ``match``: load its host tokens if at most ``quota``; how many came, 0 without a tier."""

    def allocate(self, seq: Sequence, tokens: int) -> bool:
        """Make room, take slots for ``tokens`` further prompt tokens; False leaves the sequence as it was."""

    def publish(self, seq: Sequence) -> None:
        """The forward pass over the allocated tokens is done: make their KV visible to others."""

    def decode(self, seq: Sequence, steps: int) -> int:
        """Take slots for up to ``steps`` decode steps one after the other; returns how many found room."""

    def decode_together(self, seqs: list[Sequence], steps: int) -> list[int]:
        """As ``decode``, step by step for all sequences in turn; how many steps each found room for."""

    def finish(self, seq: Sequence) -> None:
        """Cache what has KV, give back duplicates and partial pages, release every lock."""

    def retract(self, seq: Sequence) -> None:
        """Take a running sequence out: its locks go, its unshared slots are freed."""


def decode_in_turn(cache: PrefixCache, seqs: list[Sequence], steps: int) -> list[int]:
    """``decode_together`` for any cache: sequence by sequence, with the outcome of step by step.

    Both evict the same shortest run of victims. But with pages a step checks for room even where it opens no
    page, so the last step's checks are made in their own order.
    """
    if steps == 1 or cache.page_size == 1:
        return [cache.decode(seq, steps) for seq in seqs]
    early = [cache.decode(seq, steps - 1) for seq in seqs]
    return [count + cache.decode(seq, 1) for seq, count in zip(seqs, early, strict=True)]
