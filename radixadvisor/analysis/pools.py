"""An engine with a pool of a given size, or with given clients: the headline where a user tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from radixadvisor.analysis.columns import requests_of
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["POLICY", "replicas_of", "served_by_pool"]

POLICY = "lpm"
"""The order of the waiting queue where clients are told: the one that a long queue switches off."""


def replicas_of(trace: Trace, setting: Setting) -> list[int] | None:
    """A number per request in order of arrival, equal on one replica; None where neither the log nor the
    user tells several apart.

    The log does where it names the replica of most requests; the others count as one of its own. Replicas
    that the user tells of take turns.
    """
    names = [trace.requests[index].replica for index in trace.order]
    if 2 * names.count(None) < len(names):
        known: dict[str | None, int] = {}
        numbers = [known.setdefault(name, len(known)) for name in names]
        return numbers if len(set(known) - {None}) > 1 else None
    if setting.replicas is not None and setting.replicas > 1:
        return [position % setting.replicas for position in range(len(names))]
    return None


def served_by_pool(
    trace: Trace, name: str, setting: Setting, *, sorted_batch: bool = False, **changes: Any
) -> Counts:
    """Tokens served per request in order of arrival, at the log's own arrivals or by the clients told.

    Args:
        trace: a tokenized log.
        name: the engine.
        setting: pool, clients and replicas.
        sorted_batch: submit the requests in the order of their prefixes instead.
        changes: fields of ``simulate.Options`` that differ.
    """
    import numpy as np

    replicas = replicas_of(trace, setting)
    requests = requests_of(trace)
    options = Options(
        capacity=setting.capacity,
        concurrency=setting.concurrency,
        policy=POLICY if setting.concurrency is not None and setting.concurrency > 1 else None,
    )
    if replicas is not None:
        column = [0] * len(replicas)
        for index, replica in zip(trace.order, replicas, strict=True):
            column[index] = replica
        requests = replace(requests, replicas=column)
        options = replace(options, replicas=max(replicas) + 1, route="logged")
    options = replace(options, **changes)
    if not sorted_batch:
        return simulate(requests, engine(name), options).matched_tokens[trace.order]
    order = sorted(
        range(len(requests)), key=lambda index: (requests.namespace(index), requests.prompt(index))
    )
    found = np.zeros(len(order), np.int64)
    found[order] = simulate(_picked(requests, order), engine(name), options).matched_tokens
    return found[trace.order]


def _picked(requests: Requests, order: list[int]) -> Requests:
    """The requests in another order, without arrivals."""
    columns = {
        name: None if (column := getattr(requests, name)) is None else [column[index] for index in order]
        for name in Requests.__slots__
        if name not in ("unit", "arrivals", "latencies")
    }
    prompts = columns.pop("prompts") or []
    return Requests(prompts, **columns, unit=requests.unit)
