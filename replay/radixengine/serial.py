"""Requests served strictly one after the other: no batch, no reservation, no chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from radixengine.cache import PrefixCache, Sequence


class Served(NamedTuple):
    """How one request fared. Counts in tokens.

    ``matched`` were on the device, ``host`` more were loaded back. ``admitted`` is False if the prompt found
    no room; ``decoded`` counts the output tokens that got a slot, ``complete`` says that none was denied one.
    """

    rid: int
    matched: int
    host: int
    admitted: bool
    decoded: int
    complete: bool


def serve(cache: PrefixCache, sequences: Iterable[Sequence]) -> Iterator[Served]:
    """Serve each sequence whole before the next one begins. The last sampled token never gets a slot."""
    for seq in sequences:
        cache.prefetch(seq)
        matched = cache.match(seq).device
        host = cache.load_back(seq)
        if not cache.allocate(seq, seq.prompt_len - matched - host):
            cache.unlock(seq)
            yield Served(seq.rid, matched, host, admitted=False, decoded=0, complete=False)
            continue
        cache.publish(seq)
        steps = max(seq.output_len - 1, 0)
        decoded = cache.decode(seq, steps)
        cache.finish(seq)
        yield Served(seq.rid, matched, host, admitted=True, decoded=decoded, complete=decoded == steps)
