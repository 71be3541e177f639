"""vLLM's block cache: full blocks found by a chained hash, one free queue, no tree that protects a prefix.

A block's key is a 128-bit hash of its parent's key and its own tokens; the first block's parent is the
namespace. Blocks are registered when they are allocated, so a later request of the same step can hit them. A
released block keeps its key until it is popped for reuse, which is the only eviction there is.
"""

from __future__ import annotations

from collections import OrderedDict

from radixengine.block_table import BlockTable
from radixengine.cache import TOKEN_BYTES, Match, Occupancy, Sequence
from radixengine.free_queue import FreeQueue
from radixengine.partial import PartialIndex


class BlockCache:
    """A pool of ``num_blocks`` blocks of ``block_size`` tokens; one of them is the null block, never used.

    ``partial_reuse`` adds TensorRT-LLM's rule: behind the last full hit, the longest run of tokens that some
    cached sibling block starts with is copied into the request's own block, and the unfilled last block of a
    finished request is kept as a source for such copies.
    """

    def __init__(self, num_blocks: int, block_size: int = 16, *, partial_reuse: bool = False) -> None:
        if block_size < 1:
            raise ValueError(f"block_size must be at least 1, got {block_size}")
        if num_blocks < 2:
            raise ValueError(f"num_blocks counts the null block and must be at least 2, got {num_blocks}")
        self.page_size = block_size
        self.capacity = (num_blocks - 1) * block_size
        self._free = FreeQueue(num_blocks - 1)
        self._partial = PartialIndex() if partial_reuse else None
        self._first: dict[bytes, int] = {}
        self._copies: dict[bytes, OrderedDict[int, None]] = {}
        self._refs: list[int] = []
        self._keys: list[bytes] = []
        self._keyed = 0
        self.evicted = 0

    def occupancy(self) -> Occupancy:
        """Tokens, in whole blocks. In use: ``protected`` blocks have a key, ``held`` ones have none."""
        size, queue = self.page_size, self._free
        evictable = queue.keyed
        free = len(queue) - evictable
        protected = self._keyed - evictable
        held = queue.blocks - free - self._keyed
        return Occupancy(free * size, evictable * size, protected * size, held * size, self.capacity)

    def peek(self, seq: Sequence) -> Match:
        """Look up without any side effect on the pool."""
        hits, copied = self._lookup(seq, self._table(seq))
        return Match(len(hits) * self.page_size + copied, 0)

    def match(self, seq: Sequence) -> Match:
        """Look up the leading run of known blocks, at most ``(prompt - 1) // block`` of them.

        The hits stay in the free queue until the fit test of the first ``allocate``, which counts them and
        raises RuntimeError if another sequence has taken one of them meanwhile.
        """
        table = self._table(seq)
        table.hits, copied = self._lookup(seq, table)
        table.evicted = self.evicted
        table.tokens = len(table.hits) * self.page_size + copied
        seq.computed = table.tokens
        return Match(table.tokens, 0)

    def unlock(self, seq: Sequence) -> None:
        """Forget the hits of a sequence that was not admitted."""
        table = self._table(seq)
        table.hits, table.tokens = [], 0
        seq.computed = 0

    def prefetch(self, seq: Sequence) -> float:
        """There is no external tier."""
        return 0.0

    def load_back(self, seq: Sequence, quota: int | None = None) -> int:
        """There is no host tier."""
        return 0

    def allocate(self, seq: Sequence, tokens: int) -> bool:
        """Take blocks for ``tokens`` further prompt tokens and register the blocks they fill.

        False, with nothing changed, if new blocks + hits now in the free queue exceed the free queue.
        """
        table = self._table(seq)
        refs, hits = self._refs, table.hits
        end = table.tokens + tokens
        new = -(-end // self.page_size) - len(table.blocks) - len(hits)
        revived = [block for block in hits if not refs[block]]
        if new + len(revived) > len(self._free):
            return False
        if hits:
            if self.evicted != table.evicted and any(
                self._keys[block] != key for block, key in zip(hits, table.keys, strict=False)
            ):
                raise RuntimeError("a matched block was evicted before its sequence was allocated")
            self._free.remove(revived)
            for block in hits:
                refs[block] += 1
            table.blocks, table.hits = hits, []
            table.registered = len(hits)
        self._pop(table, new)
        table.tokens = end
        self._register(table, seq.prompt)
        return True

    def publish(self, seq: Sequence) -> None:
        """Note the computed tokens; the blocks have been visible since they were allocated."""
        seq.computed = self._table(seq).tokens

    def decode(self, seq: Sequence, steps: int) -> int:
        """Take a block whenever the length is a multiple of the block; returns the steps that found room."""
        table, size = self._table(seq), self.page_size
        held = len(table.blocks)
        new = -(-(table.tokens + steps) // size) - held
        if new > 0:
            new = min(new, len(self._free))
            steps = min(steps, (held + new) * size - table.tokens)
            self._pop(table, new)
        table.tokens += steps
        seq.computed = table.tokens
        if not seq.cache_prompt_only and table.tokens // size > table.registered:
            self._register(table, seq.prompt + seq.output)
        return steps

    def decode_together(self, seqs: list[Sequence], steps: int) -> list[int]:
        """Sequence by sequence; most of them stay within a block they have and do not fill it."""
        size = self.page_size
        counts = []
        for seq in seqs:
            table = self._table(seq)
            end = table.tokens + steps
            if end // size <= table.registered and end <= len(table.blocks) * size:
                table.tokens = seq.computed = end
                counts.append(steps)
            else:
                counts.append(self.decode(seq, steps))
        return counts

    def finish(self, seq: Sequence) -> None:
        """Release the blocks; those with a key stay findable until they are popped."""
        table = self._table(seq)
        if self._partial is not None:
            self._register_unfilled(seq, table, self._partial)
        self._release(seq, table)

    def retract(self, seq: Sequence) -> None:
        """Release a running sequence's blocks; the filled ones stay findable."""
        self._release(seq, self._table(seq))
        seq.computed = 0

    def audit(self) -> None:
        """Recount keys, references and the free queue; raises AssertionError on any disagreement."""
        unkeyed, keyed = self._free.audit()
        unused = {block for block, refs in enumerate(self._refs) if not refs}
        assert unused == {*unkeyed, *keyed}, "the free queue holds exactly the blocks without references"
        assert not any(self._keys[block] for block in unkeyed), "a keyed block was put at the front"
        assert all(self._keys[block] for block in keyed), "an unkeyed block was put at the back"
        found = list(self._first.items())
        found += [(key, block) for key, blocks in self._copies.items() for block in blocks]
        assert sorted(found) == sorted((key, block) for block, key in enumerate(self._keys) if key)
        assert len(found) == self._keyed

    def _table(self, seq: Sequence) -> BlockTable:
        table: BlockTable | None = seq.state
        if table is None:
            table = seq.state = BlockTable(seq.namespace, seq.prompt, self.page_size)
        return table

    def _lookup(self, seq: Sequence, table: BlockTable) -> tuple[list[int], int]:
        """The blocks that hit, and the tokens that a sibling block could give behind them."""
        if seq.bypass:
            return [], 0
        keys = table.keys[: max(seq.prompt_len - 1, 0) // self.page_size]
        hits: list[int] = list(iter(map(self._first.get, keys).__next__, None))
        if self._partial is None:
            return hits, 0
        rest = table.content(seq.prompt[:-TOKEN_BYTES], len(hits))
        return hits, self._partial.longest(table.parent(len(hits)), rest)

    def _pop(self, table: BlockTable, count: int) -> None:
        """Give the sequence ``count`` blocks off the free queue, dropping the keys they still had."""
        blocks, keyed = self._free.pop(count)
        refs, fresh = self._refs, self._free.used - len(self._refs)
        refs.extend([0] * fresh)
        self._keys.extend([b""] * fresh)
        for block in blocks:
            refs[block] = 1
        for block in blocks[count - keyed :]:
            self._evict(block)
        table.blocks += blocks

    def _evict(self, block: int) -> None:
        key = self._keys[block]
        copies = self._copies.get(key)
        if copies is None:
            del self._first[key]
            if self._partial is not None:
                self._partial.discard(key)
        else:
            if self._first[key] == block:
                self._first[key] = copies.popitem(last=False)[0]
            else:
                del copies[block]
            if not copies:
                del self._copies[key]
        self._keys[block] = b""
        self._keyed -= 1
        self.evicted += self.page_size

    def _register(self, table: BlockTable, tokens: bytes) -> None:
        """Give the blocks that are full by now their keys."""
        start, full = table.registered, table.tokens // self.page_size
        if full > len(table.keys):
            table.chain(tokens, full)
        for block, key in zip(table.blocks[start:full], table.keys[start:full], strict=True):
            self._enter(block, key)
        table.registered = max(start, full)
        if self._partial is not None:
            for index in range(start, full):
                self._partial.add(table.parent(index), table.keys[index], table.content(tokens, index))

    def _enter(self, block: int, key: bytes) -> None:
        """Identical blocks coexist; a lookup finds the one registered first."""
        self._keys[block] = key
        if self._first.setdefault(key, block) != block:
            self._copies.setdefault(key, OrderedDict())[block] = None
        self._keyed += 1

    def _register_unfilled(self, seq: Sequence, table: BlockTable, partial: PartialIndex) -> None:
        """Key the last, unfilled block by what it holds, so that it can be copied from."""
        stop = min(table.tokens, seq.prompt_len) if seq.cache_prompt_only else table.tokens
        last = table.registered
        content = table.content((seq.prompt + seq.output)[: stop * TOKEN_BYTES], last)
        if not 0 < len(content) < table.step:
            return
        key = table.partial_key(content)
        self._enter(table.blocks[last], key)
        partial.add(table.parent(last), key, content)
        table.registered += 1

    def _release(self, seq: Sequence, table: BlockTable) -> None:
        """Drop one reference per block, tail first."""
        refs, unshared = self._refs, []
        for block in table.blocks:
            count = refs[block] - 1
            refs[block] = count
            if not count:
                unshared.append(block)
        # Blocks without a key stand behind all others and are never shared.
        unkeyed = len(table.blocks) - table.registered
        split = len(unshared) - unkeyed
        self._free.release(unshared[:split][::-1], unshared[split:][::-1])
        seq.state = None
