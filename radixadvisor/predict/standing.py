"""Where a workload stands on the roofline, and whether a host tier would be faster than computing again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from radixadvisor.predict.clock import CLIENTS
from radixadvisor.predict.closed_form import decode_batch
from radixadvisor.predict.results import Point
from radixadvisor.predict.roofline import Roofline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["host_seconds", "points_of"]


def points_of(
    roofline: Roofline, forms: Mapping[str, tuple[Counts, Counts]], outputs: Counts, pool: int | None
) -> dict[str, Point]:
    """Passes of the mean request: prefill alone, decode in a batch as wide as the pool allows; without a
    cache (``off``, the form ``none``) and with SGLang's (``on``). Forms are prompt lengths and cached tokens.
    """
    found = {}
    for name, key in (("off", "none"), ("on", "sglang")):
        lengths, cached = forms[key]
        length, hit = int(lengths.mean()), int(cached.mean())
        seen = outputs[: len(lengths)]
        batch = CLIENTS if pool is None else decode_batch(lengths - cached, seen, pool, CLIENTS)
        context = max(length + int(seen.mean() / 2), 1)
        prefill = roofline.work((max(length - hit, 1),), (hit,), 1)
        decode = roofline.work((), (), 0, [context] * batch)
        for phase, work in (("prefill", prefill), ("decode", decode)):
            found[f"{phase}_{name}"] = Point(work.intensity, roofline.ridge, roofline.seconds(work))
    return found


def host_seconds(roofline: Roofline, lengths: Counts, cached: Counts) -> tuple[float, float]:
    """Seconds per token to load its KV back from the host, and to compute it, for what the mean request
    finds.
    """
    hit = max(int(cached.mean()), 1)
    compute = (roofline.prefill_seconds(hit) - roofline.rates.step_overhead) / hit
    return roofline.load_seconds(), compute
