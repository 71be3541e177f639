"""Routers in front of several replicas: which one gets a request."""

from __future__ import annotations

import heapq
import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from radixengine.tree import RadixTree
from xxhash import xxh64_intdigest

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.paths import data_dir
from radixadvisor.simulate.requests import TOKEN_BYTES, Requests

__all__ = ["ROUTES", "Router", "router"]


@dataclass(frozen=True, slots=True)
class RouterRules:
    """Thresholds from ``rules/router.toml``; ``tree_limit`` counts characters (or tokens) per worker."""

    cache_threshold: float
    balance_absolute: int
    balance_relative: float
    eviction_seconds: float
    tree_limit: int
    prefix_tokens: int


@lru_cache(maxsize=1)
def router_rules() -> RouterRules:
    """The rules as shipped."""
    table = tomllib.loads((data_dir("rules") / "router.toml").read_text(encoding="utf-8"))
    return RouterRules(**{name: table[name] for name in RouterRules.__slots__})


Loads = Callable[[], list[int]]


class Router(Protocol):
    """Chooses a replica. ``note`` is what has to be said about how it does."""

    note: str

    def pick(self, index: int, loads: Loads, now: float) -> int:
        """The replica for request ``index``; ``loads()`` counts the requests each replica is busy with."""


class _Simple:
    """A router that looks at the request alone."""

    note = ""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self._choose = choose

    def pick(self, index: int, loads: Loads, now: float) -> int:
        return self._choose(index)


class _RoundRobin:
    """One after the other, in order of arrival."""

    note = ""

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._count = -1

    def pick(self, index: int, loads: Loads, now: float) -> int:
        self._count += 1
        return self._count % self._replicas


class CacheAware:
    """SGLang's cache-aware router: a tree of what each worker was sent, unless loads differ much.

    Loads differ if the largest exceeds the smallest by more than ``balance_absolute`` and
    ``balance_relative`` times: then the least loaded worker is taken. Otherwise the worker with the longest
    match is, if that is more than ``cache_threshold`` of the text, else the least loaded. Ties go to the
    worker that was sent fewest requests. Lengths are characters of text, or tokens where there is no text.
    """

    def __init__(self, requests: Requests, workers: int, rules: RouterRules) -> None:
        self._requests = requests
        self._trees = [RadixTree() for _ in range(workers)]
        self._sent = [0] * workers
        self._rules = rules
        self._swept = 0.0
        self.note = "" if requests.texts is not None else "cache-aware routing matches tokens, not raw text"

    def pick(self, index: int, loads: Loads, now: float) -> int:
        """Route by match or by load, then remember the text for the chosen worker."""
        rules = self._rules
        if now - self._swept >= rules.eviction_seconds:
            self._swept = now
            for tree in self._trees:
                _shrink(tree, rules.tree_limit)
        text = self._text(index)
        size = len(text) // TOKEN_BYTES
        busy, sent = loads(), self._sent
        workers = range(len(busy))
        low, high = min(busy), max(busy)
        chosen = min(workers, key=lambda worker: (busy[worker], sent[worker], worker))
        if not (high - low > rules.balance_absolute and high > rules.balance_relative * low):
            matched = [tree.peek(text)[0] for tree in self._trees]
            best = max(workers, key=lambda worker: (matched[worker], -sent[worker], -worker))
            if size and matched[best] / size > rules.cache_threshold:
                chosen = best
        tree = self._trees[chosen]
        tree.insert(tree.root(), text, 0, size)
        self._sent[chosen] += 1
        return chosen

    def _text(self, index: int) -> bytes:
        """Four bytes per unit of length."""
        texts = self._requests.texts
        if texts is None:
            return self._requests.prompt(index)
        return texts[index].encode("utf-32-le", "surrogatepass")


def _shrink(tree: RadixTree, limit: int) -> None:
    """Remove the least recently used leaves until at most ``limit`` units are left."""
    if tree.tokens <= limit:
        return
    heap = [(leaf.stamp, order, leaf) for order, leaf in enumerate(tree.leaves())]
    heapq.heapify(heap)
    count = len(heap)
    while tree.tokens > limit:
        _, _, leaf = heapq.heappop(heap)
        parent = leaf.parent
        tree.remove(leaf)
        if parent is not None and parent.parent is not None and not parent.children:
            count += 1
            heapq.heappush(heap, (parent.stamp, count, parent))


def _hashed(data: bytes, replicas: int) -> int:
    return xxh64_intdigest(data) % replicas


def _random(requests: Requests, replicas: int, seed: int) -> Router:
    rng = random.Random(seed)
    return _Simple(lambda index: rng.randrange(replicas))


def _sticky(requests: Requests, replicas: int, seed: int) -> Router:
    sessions = requests.sessions
    if sessions is None:
        raise UsageError(
            f"Sticky routing needs sessions, which this log lacks; it can have {_others('sticky')}."
        )
    return _Simple(lambda index: _hashed(str(sessions[index]).encode(), replicas))


def _prefix_hash(requests: Requests, replicas: int, seed: int) -> Router:
    size = router_rules().prefix_tokens * TOKEN_BYTES

    def choose(index: int) -> int:
        return _hashed(requests.prompt(index)[:size], replicas)

    return _Simple(choose)


def _logged(requests: Requests, replicas: int, seed: int) -> Router:
    column = requests.replicas
    if column is None:
        raise UsageError(f"The log names no replicas to follow; it can have {_others('logged')}.")
    if max(column, default=0) >= replicas:
        raise UsageError(f"The log names replicas up to number {max(column)}, {replicas} are simulated.")
    return _Simple(lambda index: column[index])


ROUTES: dict[str, Callable[[Requests, int, int], Router]] = {
    "round-robin": lambda requests, replicas, seed: _RoundRobin(replicas),
    "random": _random,
    "sticky": _sticky,
    "prefix-hash": _prefix_hash,
    "cache-aware": lambda requests, replicas, seed: CacheAware(requests, replicas, router_rules()),
    "logged": _logged,
}


def router(name: str, requests: Requests, replicas: int, seed: int = 0) -> Router:
    """A router by name.

    Raises:
        UnknownName: there is none of that name.
        UsageError: the log lacks what it routes by.
    """
    if name not in ROUTES:
        raise UnknownName("route", name, ROUTES)
    return ROUTES[name](requests, replicas, seed)


def _others(name: str) -> str:
    return ", ".join(sorted(set(ROUTES) - {name}))
