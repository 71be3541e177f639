"""Speed of the caches, one core: ``python -m tests.benchmarks.simulate [requests]``.

Requests of about 2,000 packed tokens: one of 20 system prompts, one of 300 documents (a few of them popular),
an own tail, and 20 output tokens. Parsing is excluded; each cache serves them strictly one after the other.
"""

from __future__ import annotations

import gc
import sys
import time
from array import array
from collections.abc import Callable, Iterable
from random import Random

from radixengine.blocks import BlockCache
from radixengine.cache import PrefixCache, Sequence
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.serial import serve
from radixengine.tree import RadixTree

from tests.benchmarks.naive_radix import NaiveRadix

FINITE = 300_000
UNLIMITED = 200_000_000
VLLM_BLOCK = 16


def workload(count: int) -> list[tuple[bytes, bytes]]:
    """(prompt, output), packed int32; the same for the same count."""
    rng = Random(1)

    def tokens(size: int) -> array[int]:
        return array("i", [rng.randrange(32_000) for _ in range(size)])

    systems = [tokens(800) for _ in range(20)]
    documents = [tokens(800) for _ in range(300)]
    requests = []
    for _ in range(count):
        document = documents[min(int(rng.paretovariate(0.5)) - 1, 299)]
        prompt = rng.choice(systems) + document + tokens(rng.randint(300, 500))
        requests.append((prompt.tobytes(), tokens(20).tobytes()))
    return requests


def sequences(requests: Iterable[tuple[bytes, bytes]]) -> list[Sequence]:
    """Fresh sequences; a cache writes to them."""
    return [Sequence(rid, prompt, output) for rid, (prompt, output) in enumerate(requests)]


def served_per_second(cache: PrefixCache, requests: list[tuple[bytes, bytes]]) -> tuple[float, int]:
    """Requests per CPU second, and tokens hit."""
    waiting = sequences(requests)
    return _timed(lambda: sum(served.matched for served in serve(cache, waiting)), len(requests))


def measured_per_second(page: int, requests: list[tuple[bytes, bytes]]) -> tuple[float, int]:
    """The same for the unlimited measurement, prompts only."""
    tree = RadixTree(page)
    return _timed(lambda: sum(tree.match_insert(prompt) for prompt, _ in requests), len(requests))


def _timed(work: Callable[[], int], count: int) -> tuple[float, int]:
    gc.collect()
    gc.freeze()
    start = time.process_time()
    hits = work()
    return count / (time.process_time() - start), hits


def main() -> None:
    """Print one line per cache."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    requests = workload(count)
    total = sum(len(prompt) for prompt, _ in requests) // 4
    print(f"{count} requests, {total / count:.0f} tokens per prompt on average")

    def line(name: str, result: tuple[float, int]) -> None:
        print(f"{name:44} {result[0]:9.0f} requests/s   hit {result[1] / total:.4f}")

    for page in (1, 16, 64):
        line(f"radix tree, unlimited measurement, page {page}", measured_per_second(page, requests))
        profile = RadixProfile(page)
        line(
            f"radix cache, unlimited, page {page}",
            served_per_second(RadixCache(UNLIMITED, profile), requests),
        )
        line(
            f"radix cache, {FINITE} tokens, page {page}",
            served_per_second(RadixCache(FINITE, profile), requests),
        )
    for name, capacity in (("unlimited", UNLIMITED), (f"{FINITE} tokens", FINITE)):
        blocks = BlockCache(capacity // VLLM_BLOCK + 1, VLLM_BLOCK)
        line(f"vLLM blocks, {name}, block {VLLM_BLOCK}", served_per_second(blocks, requests))
    few = requests[: max(count // 10, 1)]
    for name, capacity in (("unlimited", UNLIMITED), (f"{FINITE} tokens", FINITE)):
        fast, fast_hits = served_per_second(RadixCache(capacity), few)
        slow, slow_hits = served_per_second(NaiveRadix(capacity), few)
        if fast_hits != slow_hits:
            raise SystemExit(f"the naive cache hits {slow_hits} tokens, the radix cache {fast_hits}")
        print(f"radix cache over the naive reference, {name}: {fast / slow:.1f}x ({slow:.0f} requests/s)")


if __name__ == "__main__":
    main()
