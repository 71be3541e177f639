"""SGLang's prefix cache: the radix tree over a token pool, with eviction, slots and further tiers."""

from __future__ import annotations

from radixengine.cache import TOKEN_BYTES, Match, Occupancy, Sequence, decode_in_turn
from radixengine.evictor import Evictor
from radixengine.holding import Holding, Ledger
from radixengine.host import Copies, build_tiers
from radixengine.pool import PoolError
from radixengine.profile import RadixProfile
from radixengine.table import RequestTable
from radixengine.tree import RadixTree

__all__ = ["RadixCache", "RadixProfile"]


class RadixCache:
    """A finite radix cache of ``capacity`` tokens; see the PrefixCache protocol.

    With ``table`` every token has a real slot: nodes and table rows carry slot numbers. With ``copies`` KV
    really moves between the device and a host tier.
    """

    def __init__(
        self,
        capacity: int,
        profile: RadixProfile | None = None,
        table: RequestTable | None = None,
        copies: Copies | None = None,
    ) -> None:
        self.profile = profile = profile or RadixProfile()
        self.page_size = profile.page_size
        self.tree = RadixTree(
            profile.page_size, refresh_tail=profile.refresh_tail, inherit_creation=profile.inherit_creation
        )
        self.table = table
        self.ledger = Ledger(capacity, profile.page_size, table)
        self._pool = self.ledger.pool
        self.capacity = self._pool.total
        self.host = build_tiers(self.tree, self.capacity, profile, copies)
        self._evictor = Evictor(self.tree, self.ledger, profile, self.host)

    @property
    def evicted(self) -> int:
        """Tokens evicted from the device so far."""
        return self._evictor.evicted

    def occupancy(self) -> Occupancy:
        """Where the device's tokens are."""
        tree = self.tree
        return Occupancy(self._pool.free, tree.evictable, tree.protected, self.ledger.held, self.capacity)

    def peek(self, seq: Sequence) -> Match:
        """What ``match`` would find, without side effects."""
        device, total = self.tree.peek(seq.prompt, self._limit(seq), seq.namespace)
        return Match(device, total - device)

    def match(self, seq: Sequence) -> Match:
        """Look up the prompt, as a rule without its last token; lock the path, its host part included."""
        found = self.tree.match(seq.prompt, self._limit(seq), seq.namespace)
        self.tree.lock(found.deepest)
        host = found.deepest_tokens - found.tokens
        seq.state = Holding(found.node, found.deepest, found.tokens, host, found.tokens)
        seq.computed = found.tokens
        return Match(found.tokens, host)

    def unlock(self, seq: Sequence) -> None:
        """Undo ``match``: the lock goes."""
        holding = _holding(seq)
        if holding.held:
            raise PoolError("a sequence that holds slots is retracted, not unlocked")
        self._forget(seq, holding)
        seq.computed = 0

    def prefetch(self, seq: Sequence) -> float:
        """Bring what the external store has to the host; the seconds after which it is really there."""
        host = self.host
        if host is None or host.external is None:
            return 0.0
        limit = self._limit(seq)
        known = sum(self.peek(seq))
        plan = host.external.plan(self.tree.root(seq.namespace), seq.prompt, limit, known)
        if not plan.tokens:
            return 0.0
        deepest = self.tree.match(seq.prompt, limit, seq.namespace).deepest
        self.tree.lock(deepest)
        fits = host.make_room(plan.tokens)
        if fits:
            host.graft(deepest, seq.prompt, known, known + plan.tokens)
        self.tree.unlock(deepest)
        return plan.seconds if fits else 0.0

    def load_back(self, seq: Sequence, quota: int | None = None) -> int:
        """Load the matched host tokens, all or none; none below the profile's minimum or above ``quota``."""
        holding = _holding(seq)
        tokens = holding.host
        wanted = tokens >= self.profile.load_back_minimum and (quota is None or tokens <= quota)
        if not wanted or not self.make_room(tokens):
            self._let_host_go(holding)
            return 0
        above = len(self.tree.path(holding.node))
        for node in self.tree.path(holding.locked)[above:]:
            self.tree.restore(node, self.ledger.take_for_node(node))
            if self.host is not None:
                self.host.load(node)
        holding.node = holding.locked
        holding.host = 0
        holding.cached += tokens
        holding.taken = seq.computed = holding.cached
        return tokens

    def make_room(self, tokens: int) -> bool:
        """Evict if fewer than ``tokens`` are free; whether they are free in the end."""
        return self._evictor.make_room(tokens)

    def allocate(self, seq: Sequence, tokens: int) -> bool:
        """Make room for the tokens, and a page more if pages exceed a token; take the pages they need."""
        holding = _holding(seq)
        self._let_host_go(holding)
        page = self.page_size
        self.make_room(tokens + (page if page > 1 else 0))
        pages = -(-(tokens - holding.room) // page)
        if pages * page > self._pool.free or not self.ledger.admit(holding):
            return False
        self.ledger.take(holding, pages * page)
        holding.taken += tokens
        return True

    def publish(self, seq: Sequence) -> None:
        """Insert the whole pages computed so far and move the lock to their end."""
        holding = _holding(seq)
        seq.computed = holding.taken
        old = holding.node
        self._insert(seq, holding, seq.prompt, 0, holding.taken // self.page_size * self.page_size)
        self.tree.lock(holding.node, until=old)
        holding.locked = holding.node

    def decode(self, seq: Sequence, steps: int) -> int:
        """Every step wants a free page, also when it opens none; it takes one when the length is whole pages.

        Equals single steps, but costs time only for evictions.
        """
        holding = _holding(seq)
        pool, page = self._pool, self.page_size
        done = 0
        while done < steps:
            self.make_room(page)
            room, left = holding.room, steps - done
            if not room:
                pages = min(-(-left // page), pool.free // page)
                if not pages:
                    break
                room = pages * page
                self.ledger.take(holding, room)
                if min(room, left) > room - page + 1:
                    # Later steps stay inside the last page opened; they want a free page as well.
                    self.make_room(page)
            step = min(room, left)
            holding.taken += step
            done += step
        seq.computed = holding.taken
        return done

    def decode_together(self, seqs: list[Sequence], steps: int) -> list[int]:
        """Unit pages without a table are only counted: they are taken for all sequences at once."""
        total = steps * len(seqs)
        if self.page_size > 1 or self.ledger.table is not None or not self._evictor.close_gap(total):
            return decode_in_turn(self, seqs, steps)
        self._pool.take(total)
        self.ledger.held += total
        for seq in seqs:
            holding = seq.state
            holding.held += steps
            holding.taken = seq.computed = holding.taken + steps
        return [steps] * len(seqs)

    def finish(self, seq: Sequence) -> None:
        """Insert the whole pages of prompt and output that have KV, give everything else back, unlock."""
        holding = _holding(seq)
        stop = seq.computed
        if seq.cache_prompt_only or self.profile.prompt_only:
            stop = min(stop, seq.prompt_len)
        stop = stop // self.page_size * self.page_size
        base = holding.cached
        tail = seq.prompt[base * TOKEN_BYTES :]
        if stop > seq.prompt_len:
            tail += seq.output[: (stop - seq.prompt_len) * TOKEN_BYTES]
        self._insert(seq, holding, tail, base, stop)
        self.ledger.give_rest(holding)
        self._forget(seq, holding)
        self.tree.settle(holding.node)

    def retract(self, seq: Sequence) -> None:
        """Free what is not in the tree and unlock the rest."""
        holding = _holding(seq)
        self.ledger.give_rest(holding)
        self._forget(seq, holding)
        seq.computed = 0

    def pin(self, prefix: bytes, namespace: str = "") -> bool:
        """Keep the whole pages of ``prefix`` (packed int32) resident for good; False if there is no room."""
        seq = Sequence(-1, prefix, namespace=namespace)
        stop = seq.prompt_len // self.page_size * self.page_size
        found = self.tree.match(prefix, None, namespace)
        self.tree.lock(found.node)
        holding = Holding(found.node, found.node, found.tokens, 0, found.tokens)
        seq.state = holding
        if not self.make_room(stop - found.tokens) or not self.ledger.admit(holding):
            self._forget(seq, holding)
            return False
        self.ledger.take(holding, stop - found.tokens)
        holding.taken = stop
        self.publish(seq)
        self.ledger.leave(holding)
        return True

    def audit(self, running: list[Sequence] | None = None) -> None:
        """Recount tree, pool and host; with ``running``, all admitted sequences, slot by slot as well."""
        self.tree.audit()
        now = self.occupancy()
        if now.free + now.evictable + now.protected + now.held != now.total:
            raise PoolError(f"tokens are missing or counted twice: {now}")
        nodes = [node for _, node, _ in self.tree.walk()]
        if self.host is not None:
            self.host.audit(nodes)
        if running is not None:
            self.ledger.audit(nodes, [_holding(seq) for seq in running])

    def _limit(self, seq: Sequence) -> int:
        return max(seq.prompt_len - self.profile.recompute_last, 0)

    def _insert(self, seq: Sequence, holding: Holding, key: bytes, base: int, stop: int) -> None:
        """Insert up to position ``stop``; ``key`` starts at position ``base``."""
        node, stored = self.tree.insert(
            holding.node,
            key,
            holding.cached - base,
            stop - base,
            first=not holding.counted,
            priority=seq.priority,
            slots=self.ledger.rows(holding, base, stop),
        )
        holding.counted = True
        self.ledger.hand_over(holding, node, stop, stored)
        if self.host is not None:
            self.host.backup_path(node)

    def _let_host_go(self, holding: Holding) -> None:
        """Host tokens that were matched but not loaded: unlock them, they will be computed."""
        if holding.locked is not holding.node:
            self.tree.unlock(holding.locked, until=holding.node)
            holding.locked = holding.node
            holding.host = 0

    def _forget(self, seq: Sequence, holding: Holding) -> None:
        self.tree.unlock(holding.locked)
        self.ledger.leave(holding)
        seq.state = None


def _holding(seq: Sequence) -> Holding:
    holding = seq.state
    if not isinstance(holding, Holding):
        raise PoolError(f"sequence {seq.rid} has not been matched")
    return holding
