"""A KV pool without a prefix cache: what a request computed is gone when it ends. The baseline."""

from __future__ import annotations

from radixengine.cache import Match, Occupancy, Sequence, decode_in_turn


class NoCache:
    """``capacity`` tokens in pages; nothing ever matches, nothing is ever evicted.

    A sequence's state is the number of its tokens that have a slot.
    """

    evicted = 0

    def __init__(self, capacity: int, page_size: int = 1) -> None:
        if page_size < 1:
            raise ValueError(f"page_size must be at least 1, got {page_size}")
        if capacity < page_size:
            raise ValueError(f"capacity must be at least one page of {page_size} tokens, got {capacity}")
        self.page_size = page_size
        self.capacity = capacity // page_size * page_size
        self._held = 0

    def occupancy(self) -> Occupancy:
        """All that is not free is held by running requests."""
        return Occupancy(self.capacity - self._held, 0, 0, self._held, self.capacity)

    def peek(self, seq: Sequence) -> Match:
        """Nothing."""
        return Match(0, 0)

    def match(self, seq: Sequence) -> Match:
        """Nothing, and nothing is locked."""
        seq.state = seq.computed = 0
        return Match(0, 0)

    def unlock(self, seq: Sequence) -> None:
        """Undo ``match``."""
        seq.state = None

    def prefetch(self, seq: Sequence) -> float:
        """There is no external tier."""
        return 0.0

    def load_back(self, seq: Sequence, quota: int | None = None) -> int:
        """There is no host tier."""
        return 0

    def allocate(self, seq: Sequence, tokens: int) -> bool:
        """Take pages for further tokens, if they are free."""
        new = self._pages(seq.state + tokens) - self._pages(seq.state)
        if new > self.capacity - self._held:
            return False
        self._held += new
        seq.state += tokens
        return True

    def publish(self, seq: Sequence) -> None:
        """Note the computed tokens."""
        seq.computed = seq.state

    def decode(self, seq: Sequence, steps: int) -> int:
        """Take a page whenever the length is whole pages; returns the steps that found room."""
        room = self._pages(seq.state) + self.capacity - self._held - seq.state
        steps = min(steps, room)
        self._held += self._pages(seq.state + steps) - self._pages(seq.state)
        seq.state += steps
        seq.computed = seq.state
        return steps

    def decode_together(self, seqs: list[Sequence], steps: int) -> list[int]:
        """Unit pages are taken for all sequences at once."""
        total = steps * len(seqs)
        if self.page_size > 1 or total > self.capacity - self._held:
            return decode_in_turn(self, seqs, steps)
        self._held += total
        for seq in seqs:
            seq.state = seq.computed = seq.state + steps
        return [steps] * len(seqs)

    def finish(self, seq: Sequence) -> None:
        """Free everything."""
        self._held -= self._pages(seq.state)
        seq.state = None

    def retract(self, seq: Sequence) -> None:
        """Free everything."""
        self.finish(seq)
        seq.computed = 0

    def audit(self) -> None:
        """Raises AssertionError if more is held than there is."""
        assert 0 <= self._held <= self.capacity

    def _pages(self, tokens: int) -> int:
        return -(-tokens // self.page_size) * self.page_size
