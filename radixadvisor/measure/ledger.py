"""The ledger: every prompt token in exactly one bucket.

Start from what the chosen profile serves and lift one restriction at a time, always in the order of
``BUCKETS``. Per request ``s_k = max(s_(k-1), served at step k)`` and bucket k is ``s_k - s_(k-1)``; what is
never served is seen for the first time. So no bucket is negative and their sum is the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

STEPS = ("served", "capacity", "ttl", "replicas", "in_flight", "rounding", "isolation", "order", "elsewhere")
BUCKETS = (*STEPS, "first_seen")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens of the log and their share of all prompt tokens; None where the step was not evaluated."""

    name: str
    tokens: int | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """``buckets`` in the order of ``BUCKETS``. ``columns``: tokens per request for each bucket, in the order
    of the arrays given; None where the step was not evaluated.
    """

    buckets: tuple[Bucket, ...]
    columns: dict[str, Counts | None]


def compose(prompts: Counts, steps: Mapping[str, Counts | None], order_gain: Counts | None = None) -> Ledger:
    """Put every prompt token into a bucket.

    Args:
        prompts: prompt tokens per request, int64.
        steps: tokens served per request once the restriction of that name, and all before it, are lifted.
            A step that is missing or None was not evaluated: what it would explain falls to the next
            evaluated one. ``served`` is needed; ``order`` is given by ``order_gain`` instead.
        order_gain: computed tokens before minus after the prescriptions. Counts where positive, up to what
            remains of the prompt.

    Raises:
        ValueError: an unknown step, arrays of different lengths, a request served less than nothing or
            more than its prompt, or no prompt tokens at all.
    """
    import numpy as np

    total = int(prompts.sum())
    if not total:
        raise ValueError("a ledger needs at least one prompt token")
    if unknown := set(steps) - set(STEPS) | {"order"} & set(steps):
        raise ValueError(f"not a step of the ledger: {', '.join(sorted(unknown))}")
    if steps.get("served") is None:
        raise ValueError("a ledger starts from the tokens served")
    if order_gain is not None and order_gain.shape != prompts.shape:
        raise ValueError(f"order has {len(order_gain)} requests, the log {len(prompts)}")
    reached = np.zeros_like(prompts)
    columns: dict[str, Counts | None] = {}
    for name in STEPS:
        if name == "order":
            after = None if order_gain is None else np.minimum(reached + np.maximum(order_gain, 0), prompts)
        else:
            after = _checked(name, steps.get(name), prompts)
        if after is None:
            columns[name] = None
            continue
        after = np.maximum(reached, after)
        columns[name] = after - reached
        reached = after
    columns["first_seen"] = prompts - reached
    return Ledger(tuple(_bucket(name, column, total) for name, column in columns.items()), columns)


def _checked(name: str, served: Counts | None, prompts: Counts) -> Counts | None:
    if served is None:
        return None
    if served.shape != prompts.shape:
        raise ValueError(f"{name} has {len(served)} requests, the log {len(prompts)}")
    if (served < 0).any() or (served > prompts).any():
        raise ValueError(f"{name} serves a request less than nothing or more than its prompt")
    return served


def _bucket(name: str, column: Counts | None, total: int) -> Bucket:
    if column is None:
        return Bucket(name, None, None)
    tokens = int(column.sum())
    return Bucket(name, tokens, tokens / total)
