"""vLLM's block rules written down slowly: one list of free blocks, whole prefixes as keys: an oracle."""

from __future__ import annotations

from dataclasses import dataclass, field

from radixengine.cache import Sequence

Key = tuple[str, bytes]


@dataclass(eq=False)
class Block:
    """``key``: the namespace and all tokens up to the block's end; ``start``: where its own tokens begin."""

    key: Key | None = None
    start: int = 0
    refs: int = 0
    registered: int = -1


@dataclass
class NaiveBlocks:
    num_blocks: int
    size: int
    partial_reuse: bool = False
    clock: int = 0
    blocks: list[Block] = field(default_factory=list)
    free: list[Block] = field(default_factory=list)
    running: dict[int, tuple[list[Block], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = [Block() for _ in range(self.num_blocks - 1)]
        self.free = list(self.blocks)

    def lookup(self, seq: Sequence) -> tuple[list[Block], int]:
        """The hits, and the matched tokens."""
        hits: list[Block] = []
        while (end := (len(hits) + 1) * self.size) < seq.prompt_len:
            found = [block for block in self.blocks if block.key == (seq.namespace, seq.prompt[: end * 4])]
            if not found:
                break
            hits.append(min(found, key=lambda block: block.registered))
        start = len(hits) * self.size
        return hits, start + (self._copied(seq, start) if self.partial_reuse else 0)

    def _copied(self, seq: Sequence, start: int) -> int:
        best = 0
        for block in self.blocks:
            if block.key and block.key[0] == seq.namespace and block.start == start:
                cached = block.key[1]
                for end in range(start + 1, min(seq.prompt_len, len(cached) // 4 + 1)):
                    if cached[: end * 4] == seq.prompt[: end * 4]:
                        best = max(best, end - start)
        return best

    def admit(self, seq: Sequence, tokens: int) -> bool:
        """Allocate the first ``tokens`` tokens behind the match."""
        hits, matched = self.lookup(seq)
        new = -(-(matched + tokens) // self.size) - len(hits)
        if new + sum(block in self.free for block in hits) > len(self.free):
            return False
        for block in hits:
            if block in self.free:
                self.free.remove(block)
            block.refs += 1
        self.running[seq.rid] = (hits, matched)
        return self.extend(seq, tokens, seq.prompt)

    def extend(self, seq: Sequence, tokens: int, content: bytes) -> bool:
        """Allocate ``tokens`` more; full blocks get the key that ``content`` gives them."""
        table, length = self.running[seq.rid]
        new = -(-(length + tokens) // self.size) - len(table)
        if new > len(self.free):
            return False
        for _ in range(new):
            block = self.free.pop(0)
            block.key, block.refs, block.start = None, 1, len(table) * self.size
            table.append(block)
        length += tokens
        self.running[seq.rid] = (table, length)
        for index in range(min(length, len(content) // 4) // self.size):
            self._register(table[index], (seq.namespace, content[: (index + 1) * self.size * 4]))
        return True

    def _register(self, block: Block, key: Key) -> None:
        if block.key is None:
            self.clock += 1
            block.key, block.registered = key, self.clock

    def decode(self, seq: Sequence, steps: int) -> int:
        """One step after the other."""
        for step in range(steps):
            if not self.extend(seq, 1, seq.prompt if seq.cache_prompt_only else seq.prompt + seq.output):
                return step
        return steps

    def finish(self, seq: Sequence, *, completed: bool) -> None:
        """Give everything back, tail first."""
        table, length = self.running.pop(seq.rid)
        content = (seq.prompt if seq.cache_prompt_only else seq.prompt + seq.output)[: length * 4]
        if self.partial_reuse and completed and len(content) // 4 % self.size:
            self._register(table[len(content) // 4 // self.size], (seq.namespace, content))
        front: list[Block] = []
        for block in reversed(table):
            block.refs -= 1
            if not block.refs:
                (self.free if block.key else front).append(block)
        self.free[:0] = front
