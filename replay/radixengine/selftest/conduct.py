"""The order of a self-test: correctness first, speed only of what is correct."""

from __future__ import annotations

import platform
import secrets
from functools import partial
from time import perf_counter

import torch

from radixengine.attention import BACKENDS, attention_named
from radixengine.selftest.caching import check_caching
from radixengine.selftest.kernels import check_attention
from radixengine.selftest.results import Check, Gain, Rate, SelfTest
from radixengine.selftest.speed import ceiling_of, gains_of, host_of, points_of, rates_of, sweep_of
from radixengine.shapes import TINY, ModelShape
from radixengine.threads import best_threads, using_threads
from radixengine.weights import random_model

__all__ = ["LLAMA_8B", "self_test"]

LLAMA_8B = ModelShape("8B shape", 32, 4096, 32, 8, 128, 14336, 128256, rope_theta=500_000.0)
"""The dimensions of Llama 3.1 8B."""

_CASES = 40


def self_test(device: str, seed: int | None = None) -> SelfTest:
    """Check and measure the engine on a device that is there."""
    start = perf_counter()
    seed = secrets.randbelow(2**31) if seed is None else seed
    place = torch.device(device)
    on_cpu = device == "cpu"
    model = random_model(TINY, device=device, dtype="float32", seed=seed)
    threads = best_threads(model)
    with using_threads(threads):
        checks = _kernels(place, on_cpu, seed)
    checks += check_caching(model, dtype="float32", threads=threads, seed=seed)
    name = platform.processor() or platform.machine() if on_cpu else torch.cuda.get_device_name(place)
    if not all(check.passed for check in checks):
        why = ("speed, since a check failed",)
        return SelfTest(device, name, threads, perf_counter() - start, tuple(checks), left_out=why)
    dtype = "float32" if on_cpu else "bfloat16"
    with using_threads(threads):
        ceiling = ceiling_of(place, dtype)
    rates: list[Rate] = []
    gains: list[Gain] = []
    runs = []
    timed = [(model, 2048, 16)] if on_cpu else [(random_model(TINY, device=device, dtype=dtype), 4096, 64)]
    left_out: tuple[str, ...] = ()
    if on_cpu:
        left_out = ("the 8B shape, which takes a GPU",)
    else:
        timed.append((random_model(LLAMA_8B, device=device, dtype=dtype), 4096, 64))
    for one, tokens, batch in timed:
        found, made = rates_of(one, ceiling, tokens=tokens, batch=batch, threads=threads, seed=seed)
        rates += found
        more, again = gains_of(one, tokens=tokens, count=6, threads=threads, seed=seed)
        gains += more
        # Points are of the model that was measured last, the largest.
        runs = [*made, *again, *sweep_of(one, threads=threads, seed=seed)]
    last = timed[-1][0]
    host = host_of(last, tokens=1024, threads=threads, seed=seed)
    points = {"model": last.shape.name, "device_name": name, "points": points_of(runs)}
    return SelfTest(
        device,
        name,
        threads,
        perf_counter() - start,
        tuple(checks),
        ceiling,
        tuple(rates),
        tuple(gains),
        host,
        left_out,
        points,
    )


def _kernels(place: torch.device, on_cpu: bool, seed: int) -> list[Check]:
    """Every backend that runs on the device, by the name under which the engine finds it."""
    found = []
    for name in BACKENDS:
        if name == "split" and not on_cpu:
            continue
        dtypes = ("float32",) if on_cpu else ("float32", "float16", "bfloat16")
        for dtype in dtypes:
            backend = partial(attention_named, name)
            found.append(check_attention(name, backend, device=place, dtype=dtype, cases=_CASES, seed=seed))
    return found
