"""llama.cpp's cache: every slot keeps its last sequence, host memory keeps sequences that slots gave up.

The rules are those of its server (``get_available_slot``, ``server_prompt_cache``), as of build 11549.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from radixadvisor.simulate.requests import TOKEN_BYTES

__all__ = ["LlamaSlots", "common"]

SIMILARITY = 0.1
"""Share of a prompt that a slot must hold to be chosen for it (``--slot-prompt-similarity``)."""

_KEPT_IN_SLOT = 0.5
_KEPT_ON_LOAD = 0.25


def common(first: bytes, second: bytes) -> int:
    """Tokens of the common beginning of two packed int32 sequences."""
    size = min(len(first), len(second))
    if first[:size] == second[:size]:
        return size // TOKEN_BYTES
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low // TOKEN_BYTES


@dataclass(slots=True)
class _Slot:
    tokens: bytes = b""
    used: int = -1


@dataclass(slots=True)
class LlamaSlots:
    """Slots of a llama.cpp server, one request at a time.

    ``host``: sequences that leave a slot go to host memory, without a limit (``--cache-ram``; its default of
    8 GiB is rarely met by a replay).
    """

    count: int
    host: bool = True
    similarity: float = SIMILARITY
    _slots: list[_Slot] = field(default_factory=list)
    _held: list[bytes] = field(default_factory=list)
    _clock: int = 0

    def __post_init__(self) -> None:
        self._slots = [_Slot() for _ in range(self.count)]

    def serve(self, prompt: bytes, output: bytes = b"") -> int:
        """Tokens that the cache gives to a prompt, which then occupies a slot with its output.

        The last prompt token is computed in any case.
        """
        total = len(prompt) // TOKEN_BYTES
        slot, swap = self._choose(prompt, total)
        if swap and self.host and slot.tokens:
            self._save(slot.tokens)
        if swap and self.host:
            slot.tokens = self._load(slot.tokens, prompt, total)
        hit = min(common(slot.tokens, prompt), total - 1)
        slot.tokens = prompt + output
        slot.used = self._clock
        self._clock += 1
        return max(hit, 0)

    def _choose(self, prompt: bytes, total: int) -> tuple[_Slot, bool]:
        """The slot for a prompt, and whether what it holds may be exchanged."""
        best, share = None, 0.0
        for slot in self._slots:
            found = common(slot.tokens, prompt) / total
            if slot.tokens and found > max(share, self.similarity):
                best, share = slot, found
        if best is None:
            return min(self._slots, key=lambda slot: slot.used), True
        kept = common(best.tokens, prompt) / (len(best.tokens) // TOKEN_BYTES)
        return best, kept < _KEPT_IN_SLOT

    def _save(self, tokens: bytes) -> None:
        if any(held.startswith(tokens) for held in self._held):
            return
        self._held = [held for held in self._held if not tokens.startswith(held)]
        self._held.append(tokens)

    def _load(self, current: bytes, prompt: bytes, total: int) -> bytes:
        """The sequence to go on from: the current one, or a held one that gives more and wastes less."""

        def worth(tokens: bytes) -> tuple[float, float]:
            found = common(tokens, prompt)
            return found / (len(tokens) // TOKEN_BYTES) if tokens else -1.0, found / total

        kept, share = worth(current)
        chosen = None
        for number, held in enumerate(self._held):
            held_kept, held_share = worth(held)
            if held_kept >= _KEPT_ON_LOAD and held_kept > kept and held_share > share:
                chosen, kept, share = number, held_kept, held_share
        return current if chosen is None else self._held.pop(chosen)
