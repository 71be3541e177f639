"""Where the difference between two simulations of the same log comes from, in tokens and seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from radixadvisor.errors import UsageError
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import BLOCKS, RADIX, EngineProfile
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.result import SimulationResult
from radixadvisor.simulate.run import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Comparison", "Row", "compare", "eviction_chain"]


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity in both runs. ``difference`` is b - a."""

    what: str
    unit: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        """What b has more than a."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Comparison:
    """``rows``: totals of both runs, then the parts of a request's mean time, which add up to it.
    ``reasons``: the same in sentences, the largest part first.
    """

    a: str
    b: str
    rows: tuple[Row, ...]
    reasons: tuple[str, ...]

    def row(self, what: str) -> Row:
        """A row by its name."""
        return next(row for row in self.rows if row.what == what)


def compare(a: SimulationResult, b: SimulationResult) -> Comparison:
    """Take apart what b does differently from a.

    A request's time is its wait in the queue, its prefill (admission to first token, waits for other chunks
    included) and its decode (first to last token). Means are over the requests that both runs served.

    Raises:
        UsageError: the runs are not of the same log.
    """
    import numpy as np

    if len(a.prompt_tokens) != len(b.prompt_tokens) or (a.prompt_tokens != b.prompt_tokens).any():
        raise UsageError("Only two simulations of the same log can be compared.")
    both = np.isfinite(a.e2e) & np.isfinite(b.e2e)
    rows = [
        Row("served tokens", "tokens", a.served_tokens, b.served_tokens),
        Row("computed tokens", "tokens", _computed(a), _computed(b)),
        Row("evicted tokens", "tokens", a.totals.evicted_tokens, b.totals.evicted_tokens),
        Row("retractions", "requests", int(a.retractions.sum()), int(b.retractions.sum())),
        Row("prefill steps", "seconds", a.totals.prefill_seconds, b.totals.prefill_seconds),
        Row("decode steps", "seconds", a.totals.decode_seconds, b.totals.decode_seconds),
        Row("mixed steps", "seconds", a.totals.mixed_seconds, b.totals.mixed_seconds),
        Row("decode batch", "requests", _batch(a), _batch(b)),
        Row("makespan", "seconds", a.totals.makespan, b.totals.makespan),
    ]
    parts = []
    for name, part in (("queue", _queue), ("prefill", _prefill), ("decode", _decode), ("end to end", _e2e)):
        parts.append(Row(f"{name}, mean per request", "seconds", _mean(part(a), both), _mean(part(b), both)))
    return Comparison(a.label, b.label, (*rows, *parts), _reasons(a, b, rows, parts))


def eviction_chain(
    requests: Requests, tree: EngineProfile, blocks: EngineProfile, capacity: int, concurrency: int = 1
) -> list[tuple[str, int]]:
    """Tokens served from leaf-LRU to block-LRU, one difference at a time: (what holds now, tokens served).

    The tree at its own page; at the block cache's page; evicting only the pages it needs, no longer whole
    nodes; the block cache, which keeps equal blocks twice, protects no path and evicts block by block.

    Raises:
        UsageError: the engines are not a tree and a block cache.
    """
    if tree.cache != RADIX or blocks.cache != BLOCKS:
        raise UsageError(
            f"A tree is compared with blocks: {tree.name} has {tree.cache}, {blocks.name} {blocks.cache}."
        )
    options = Options(capacity=capacity, concurrency=concurrency)
    page = blocks.page
    paged = replace(tree, page=page)
    chain = [
        (f"tree, pages of {tree.page}, whole leaves evicted", tree),
        (f"tree, pages of {page}, whole leaves evicted", paged),
        (f"tree, pages of {page}, evicted page by page", paged.with_radix(whole_node=False)),
        (f"blocks of {page}, evicted one by one", blocks),
    ]
    return [(what, simulate(requests, profile, options).served_tokens) for what, profile in chain]


def _reasons(a: SimulationResult, b: SimulationResult, rows: list[Row], parts: list[Row]) -> tuple[str, ...]:
    served, computed, prefill, decode, mixed = rows[0], rows[1], rows[4], rows[5], rows[6]
    found = []
    if computed.difference:
        found.append(
            (
                abs(prefill.difference + mixed.difference),
                f"{b.label} computes {abs(computed.difference):,.0f} {_more(computed.difference)} prompt "
                f"tokens than {a.label} ({abs(served.difference):,.0f} {_more(served.difference)} from the "
                "cache): "
                f"steps that prefill take {_change(prefill.difference + mixed.difference)}",
            )
        )
    if decode.difference:
        batch = rows[7]
        found.append(
            (
                abs(decode.difference),
                f"steps that only decode take {_change(decode.difference)} "
                f"({batch.b:.1f} instead of {batch.a:.1f} requests in a decode step)",
            )
        )
    found.sort(key=lambda entry: -entry[0])
    total = parts[-1]
    shares = sorted(parts[:-1], key=lambda row: -abs(row.difference))
    per_request = ", ".join(f"{row.what.split(',')[0]} {row.difference:+.4f} s" for row in shares)
    mean = f"a request takes {_change(total.difference, 4)} on average: {per_request}"
    return (*(sentence for _, sentence in found), mean)


def _more(difference: float) -> str:
    return "more" if difference > 0 else "fewer"


def _change(seconds: float, digits: int = 2) -> str:
    if not seconds:
        return "the same time"
    return f"{abs(seconds):.{digits}f} s {'less' if seconds < 0 else 'more'}"


def _computed(result: SimulationResult) -> int:
    return int(result.computed_tokens.sum() + result.recomputed_tokens.sum())


def _batch(result: SimulationResult) -> float:
    steps = result.totals.decode_steps
    return result.totals.decoded_tokens / steps if steps else 0.0


def _queue(result: SimulationResult) -> Floats:
    return result.queue


def _prefill(result: SimulationResult) -> Floats:
    return result.ttft - result.queue


def _decode(result: SimulationResult) -> Floats:
    return result.e2e - result.ttft


def _e2e(result: SimulationResult) -> Floats:
    return result.e2e


def _mean(column: Floats, which: NDArray[np.bool_]) -> float:
    return float(column[which].mean()) if which.any() else 0.0
