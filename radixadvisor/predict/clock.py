"""The engines' own schedulers on a virtual clock: capacity at saturation, times at a load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import TYPE_CHECKING, Any, overload

from radixadvisor.predict.executor import CostExecutor, Seconds
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import EngineProfile
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.result import SimulationResult
from radixadvisor.simulate.run import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["CLIENTS", "LONG", "Clock", "Quantiles", "Saturation", "Times", "first_requests"]

CLIENTS = 256
"""Requests in flight at saturation, for every engine."""

LONG = 2048
"""Requests that show saturation: eight times the clients."""

_SPREAD = 512
"""Requests to draw quantiles at a load from; a shorter log is repeated."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of a time, in seconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Saturation:
    """What a replica serves when requests always wait. ``requests`` and ``outputs`` (tokens) per second;
    ``rate``: the share of prompt tokens served from the cache, ``cached`` how many per request, by arrival;
    ``batch``: sequences in a decode pass, on average; ``refused``: requests that no such pool can serve.
    """

    requests: float
    outputs: float
    rate: float
    cached: Counts
    batch: float
    refused: int


@dataclass(frozen=True, slots=True)
class Times:
    """What requests wait for at a load: to the first token, to the last, between tokens (None where no output
    is longer than one), and in the queue. ``load`` is the share of the replica's capacity; ``rate`` is the
    share of prompt tokens served from the cache.
    """

    load: float
    ttft: Quantiles
    e2e: Quantiles
    itl: Quantiles | None
    queue: Quantiles
    rate: float


@dataclass(frozen=True, slots=True)
class Clock:
    """One replica: an engine with a pool of so many tokens (None: never full); ``cost`` says what its passes
    take. ``distinct``: tokens that one copy of the log leaves in a cache.

    A log that is too short is repeated: copies under namespaces of their own, each with a cold cache, served
    side by side request by request, so that no request is in flight together with those it follows. As many
    run side by side as find room in half of the pool; the others come after them.
    """

    engine: EngineProfile
    pool: int | None
    cost: Seconds
    distinct: int
    seed: int = 0

    def saturation(self, requests: Requests) -> Saturation:
        """Serve a log from clients that each send their next request when one ends, long enough that filling
        and draining the batch no longer show.
        """
        import numpy as np

        count = len(requests)
        several, rows = self._several(requests, LONG)
        result = self._simulate(several, concurrency=CLIENTS)
        served = int((~result.refused).sum())
        copies = len(rows) // count
        cached = np.rint(np.bincount(rows, weights=result.matched_tokens, minlength=count) / copies)
        totals = result.totals
        rate = served / totals.makespan if served else 0.0
        return Saturation(
            rate,
            rate * sum(requests.output_length(index) for index in range(count)) / count,
            result.rate,
            cached.astype(np.int64),
            totals.decoded_tokens / totals.decode_steps if totals.decode_steps else 0.0,
            int(result.refused.sum()) // copies,
        )

    def at_arrivals(self, requests: Requests, load: float) -> Times | None:
        """At the log's own times, which are ``load`` of the capacity; None if nothing can be served."""
        return _times(requests, self._simulate(requests), load)

    def at_rate(self, requests: Requests, rate: float, capacity: float) -> Times | None:
        """With Poisson arrivals, ``rate`` requests per second; None if nothing can be served.

        The gaps are drawn once and scaled, whatever the rate.
        """
        import numpy as np

        several, _ = self._several(requests, _SPREAD)
        arrivals = np.random.default_rng(self.seed).exponential(1.0, len(several)).cumsum() / rate
        several = replace(several, arrivals=arrivals.tolist())
        return _times(several, self._simulate(several), rate / capacity)

    def _several(self, requests: Requests, least: int) -> tuple[Requests, list[int]]:
        """The log, by arrival, so often that there are ``least`` requests, and which row each one is."""
        copies = ceil(least / len(requests))
        together = copies
        if self.pool is not None:
            together = max(1, min(copies, self.pool // 2 // max(self.distinct, 1)))
        return repeated(requests, ceil(copies / together), together)

    def _simulate(self, requests: Requests, **options: Any) -> SimulationResult:
        cost = CostExecutor(self.cost)
        return simulate(
            requests, self.engine, Options(capacity=self.pool, cost=cost, seed=self.seed, **options)
        )


def first_requests(requests: Requests, count: int) -> Requests:
    """The first so many requests by arrival, in that order."""
    return _rows(requests, requests.order()[:count])


def repeated(requests: Requests, rounds: int, together: int) -> tuple[Requests, list[int]]:
    """``rounds`` times ``together`` copies of a log, by arrival, each under namespaces of its own; without
    arrivals. Copies of one round take turns request by request.

    Also which row of the log each one is, counted by arrival.
    """
    order = requests.order()
    rows = [row for _ in range(rounds) for row in range(len(order)) for _ in range(together)]
    several = _rows(requests, [order[row] for row in rows])
    size = len(order) * together
    names = [
        f"{index // size * together + index % together}|{several.namespace(index)}"
        for index in range(rounds * size)
    ]
    return replace(several, namespaces=names, arrivals=None), rows


class _Picked(Sequence[Any]):
    """Rows of a column in another order, looked up when they are asked for."""

    def __init__(self, column: Sequence[Any], picked: Sequence[int]) -> None:
        self._column = column
        self._picked = picked

    def __len__(self) -> int:
        return len(self._picked)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._column[number] for number in self._picked[index]]
        return self._column[self._picked[index]]


def _rows(requests: Requests, picked: Sequence[int]) -> Requests:
    columns: dict[str, Any] = {
        field.name: _Picked(column, picked)
        for field in fields(requests)
        if field.name != "unit" and (column := getattr(requests, field.name)) is not None
    }
    return replace(requests, **columns)


def _times(requests: Requests, result: SimulationResult, load: float) -> Times | None:
    import numpy as np

    served = ~result.refused
    if not served.any():
        return None
    count = len(requests)
    outputs = np.fromiter((requests.output_length(index) for index in range(count)), np.int64, count)
    decoded = served & (outputs > 1)
    between = (result.e2e - result.ttft)[decoded] / (outputs[decoded] - 1)
    return Times(
        load,
        _quantiles(result.ttft[served]),
        _quantiles(result.e2e[served]),
        _quantiles(between) if len(between) else None,
        _quantiles(result.queue[served]),
        result.rate,
    )


def _quantiles(seconds: Floats) -> Quantiles:
    import numpy as np

    return Quantiles(*(float(value) for value in np.percentile(seconds, (50, 95, 99))))
