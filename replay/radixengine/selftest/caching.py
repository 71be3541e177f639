"""The whole engine with the cache on against the cache off: the same greedy tokens."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from random import Random

import numpy as np

from radixengine.config import SchedulerConfig
from radixengine.engine import Engine, EngineOptions, EngineRun
from radixengine.jobs import Job
from radixengine.model import Decoder
from radixengine.profile import RadixProfile
from radixengine.selftest.results import Check

__all__ = ["TOLERANCES", "check_caching", "prompts"]

TOLERANCES = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""The distance of the best two logits up to which another token is a tie."""

_REQUESTS = 16
_OUTPUT = 12


@dataclass(frozen=True, slots=True)
class _Setup:
    name: str
    capacity: int
    page: int = 1
    host_ratio: float = 0.0
    policy: str = "lpm"


_SETUPS = (
    _Setup("pages of 1", 8_000),
    _Setup("pages of 16", 8_000, page=16, policy="dfs-weight"),
    _Setup("a pool that evicts", 640),
    _Setup("a pool that evicts to the host", 640, host_ratio=4.0),
)


def prompts(count: int, tokens: int, shared: float, seed: int, output: int) -> list[Job]:
    """Prompts of one length, the first ``shared`` part of which is common."""
    rng = Random(seed)

    def some(size: int) -> array[int]:
        return array("i", [rng.randrange(100_000) for _ in range(size)])

    prefix = some(round(tokens * shared))
    made = [(prefix + some(tokens - len(prefix))).tobytes() for _ in range(count)]
    return [Job(rid, prompt, max_new=output) for rid, prompt in enumerate(made)]


def check_caching(model: Decoder, *, dtype: str, threads: int | None, seed: int) -> list[Check]:
    """One check per setup; each also audits every slot after every step."""
    jobs = [
        *prompts(_REQUESTS // 2, 120, 0.7, seed, _OUTPUT),
        *(
            Job(job.rid + _REQUESTS // 2, job.prompt, max_new=_OUTPUT)
            for job in prompts(_REQUESTS // 2, 90, 0.5, seed + 1, _OUTPUT)
        ),
    ]
    off = _run(model, jobs, EngineOptions(8_000, "none", threads=threads, debug=True))
    found = []
    for setup in _SETUPS:
        profile = RadixProfile(page_size=setup.page, host_ratio=setup.host_ratio)
        scheduler = SchedulerConfig(policy=setup.policy, max_running=4)
        options = EngineOptions(
            setup.capacity, profile=profile, scheduler=scheduler, threads=threads, debug=True
        )
        found.append(_compared(setup.name, off, _run(model, jobs, options), TOLERANCES[dtype]))
    return found


def _run(model: Decoder, jobs: list[Job], options: EngineOptions) -> EngineRun:
    return Engine(model, options).run(jobs, in_flight=4)


def _compared(name: str, off: EngineRun, on: EngineRun, tolerance: float) -> Check:
    """``error`` is the largest distance between the best two logits where tokens part."""
    worst, told = 0.0, f"{sum(record.matched for record in on.records)} tokens from the cache"
    for rid, expected in off.outputs.items():
        one, two = (np.frombuffer(tokens, np.int32) for tokens in (expected, on.outputs[rid]))
        if len(one) != len(two):
            return Check(
                f"cache on = off, {name}", len(off.outputs), float("nan"), tolerance, "tokens are missing"
            )
        parts = np.flatnonzero(one != two)
        if len(parts):
            at = int(parts[0])
            gap = max(float(off.gaps[rid][at]), float(on.gaps[rid][at]))
            if not gap <= worst:
                worst, told = gap, f"request {rid} parts at its token {at + 1}, logits {gap:.2g} apart"
    return Check(f"cache on = off, {name}", len(off.outputs), worst, tolerance, told)
