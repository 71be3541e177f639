"""What a block cache keeps for one sequence: its block table and the chained keys of its full blocks."""

from __future__ import annotations

from struct import iter_unpack

from xxhash import xxh3_128_digest

from radixengine.cache import TOKEN_BYTES


class BlockTable:
    """The blocks of one sequence.

    A key is a 128-bit hash of the parent block's key and the tokens; the first parent is the namespace.
    ``hits``: found blocks that await the fit test; ``evicted``: the cache's count when they were looked up.
    Of the ``tokens`` that have slots, the first ``registered`` blocks are known to the cache by their keys.
    """

    __slots__ = ("blocks", "evicted", "hits", "keys", "registered", "root", "step", "tokens")

    def __init__(self, namespace: str, prompt: bytes, block_size: int) -> None:
        self.step = block_size * TOKEN_BYTES
        self.root = xxh3_128_digest(namespace.encode())
        self.keys: list[bytes] = []
        self.blocks: list[int] = []
        self.hits: list[int] = []
        self.tokens = 0
        self.registered = 0
        self.evicted = 0
        self.chain(prompt, len(prompt) // self.step)

    def parent(self, index: int) -> bytes:
        """The key that block ``index`` continues."""
        return self.keys[index - 1] if index else self.root

    def chain(self, tokens: bytes, blocks: int) -> None:
        """Extend the keys to the first ``blocks`` blocks of packed int32 ``tokens``."""
        keys, step = self.keys, self.step
        parent = self.parent(len(keys))
        whole = memoryview(tokens)[len(keys) * step : blocks * step]
        for (content,) in iter_unpack(f"{step}s", whole):
            parent = xxh3_128_digest(parent + content)
            keys.append(parent)

    def content(self, tokens: bytes, index: int) -> bytes:
        """What block ``index`` holds of ``tokens``."""
        return tokens[index * self.step : (index + 1) * self.step]

    def partial_key(self, content: bytes) -> bytes:
        """The key of a last block that holds only ``content``."""
        return xxh3_128_digest(self.parent(self.registered) + content)
