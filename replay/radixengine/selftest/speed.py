"""How fast the engine is here, against what the device reaches in bare operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any

import torch

from radixengine.engine import Engine, EngineOptions, EngineRun
from radixengine.model import Decoder
from radixengine.profile import RadixProfile
from radixengine.scheduler import Step
from radixengine.selftest.caching import prompts
from radixengine.selftest.results import Ceiling, Gain, HostTier, Rate
from radixengine.shapes import ModelShape

__all__ = ["SHARES", "ceiling_of", "gains_of", "host_of", "points_of", "rates_of", "sweep_of"]

SHARES = (0.0, 0.5, 0.9)
_REPEATS = 3
_SWEEP = (64, 192, 512)
_BATCHES = (1, 2, 3, 5, 8, 12, 1, 2, 4, 6, 10, 16)
_BEST_OF = 5


def ceiling_of(device: torch.device, dtype: str) -> Ceiling:
    """The best of a few runs each: a square matrix product, and a copy that no cache holds."""
    kind = getattr(torch, dtype)
    size = 8192 if device.type == "cuda" else 1024
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    flops = 2 * size**3 / _fastest(lambda: left @ right, device)
    count = (4 << 30) if device.type == "cuda" else (256 << 20)
    source = torch.empty(count // 4, dtype=torch.float32, device=device).zero_()
    target = torch.empty_like(source)
    return Ceiling(dtype, flops, 2 * count / _fastest(lambda: target.copy_(source), device))


def _fastest(work: Callable[[], object], device: torch.device) -> float:
    best = float("inf")
    for _ in range(_BEST_OF + 1):
        _wait(device)
        start = perf_counter()
        work()
        _wait(device)
        best = min(best, perf_counter() - start)
    return best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def rates_of(
    model: Decoder, ceiling: Ceiling, *, tokens: int, batch: int, threads: int | None, seed: int
) -> tuple[list[Rate], list[EngineRun]]:
    """Prefill of prompts without a cache, one at a time; decode of a batch. And the runs."""
    shape = model.shape
    one = _engine(model, 4 * (tokens + 8), threads, cache=False)
    one.run(prompts(1, tokens, 0.0, seed, 1), in_flight=1)
    runs = [one.run(prompts(2, tokens, 0.0, seed + number, 1), in_flight=1) for number in range(_REPEATS)]
    computed = runs[0].prefill_tokens
    seconds = median(run.prefill_seconds for run in runs)
    flops = sum(shape.prefill_flops(record.prompt_len) for record in runs[0].records)
    prefill = Rate(
        shape.name, "prefill", f"{tokens} new tokens", computed / seconds, flops / seconds / ceiling.flops
    )
    length, output = 256, 64
    many = _engine(model, batch * (length + output + 8), threads, cache=False)
    decoded = many.run(prompts(batch, length, 0.0, seed, output))
    steps = decoded.decode_tokens / batch
    context = length + output / 2
    read = _weight_bytes(model) + batch * context * _kv_bytes(model)
    per_step = decoded.decode_seconds / max(steps, 1e-9)
    decode = Rate(
        shape.name,
        "decode",
        f"{batch} sequences of {context:.0f}",
        decoded.decode_tokens / decoded.decode_seconds,
        read / per_step / ceiling.bandwidth,
    )
    return [prefill, decode], [*runs, decoded]


def sweep_of(model: Decoder, *, threads: int | None, seed: int) -> list[EngineRun]:
    """Passes of many sizes, for a calibration: prompts with and without a cached half, and decode batches."""
    runs = []
    for tokens in _SWEEP:
        engine = _engine(model, 6 * tokens + 64, threads, cache=True)
        runs.append(engine.run(prompts(3, tokens, 0.5, seed + tokens, 1), in_flight=1))
        for batch in _BATCHES:
            engine = _engine(model, batch * (tokens + 24), threads, cache=False)
            runs.append(engine.run(prompts(batch, tokens, 0.0, seed + batch, 16)))
    return runs


def _engine(model: Decoder, capacity: int, threads: int | None, *, cache: bool, host: float = 0.0) -> Engine:
    profile = RadixProfile(host_ratio=host)
    return Engine(
        model, EngineOptions(capacity, "radix" if cache else "none", profile=profile, threads=threads)
    )


def _kv_bytes(model: Decoder) -> float:
    shape = model.shape
    return 2.0 * shape.layers * shape.kv_heads * shape.head_dim * model.dtype.itemsize


def _weight_bytes(model: Decoder) -> float:
    """What one decode step reads of the weights: layers and head, and of the embedding next to nothing."""
    shape = model.shape
    attention = shape.hidden * shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads)
    each = attention + 3 * shape.hidden * shape.intermediate
    return float((shape.layers * each + shape.vocab * shape.hidden) * model.dtype.itemsize)


def gains_of(
    model: Decoder, *, tokens: int, count: int, threads: int | None, seed: int
) -> tuple[list[Gain], list[EngineRun]]:
    """Off and on in turn, one request at a time; medians of the ratios. And the runs with the cache."""
    found, runs = [], []
    for shared in SHARES:
        jobs = prompts(count, tokens, shared, seed, 1)
        off, on = (_engine(model, 2 * count * (tokens + 1), threads, cache=cache) for cache in (False, True))
        pairs = [(off.run(jobs, in_flight=1), on.run(jobs, in_flight=1)) for _ in range(_REPEATS)]
        ratio = median(one.prefill_seconds / two.prefill_seconds for one, two in pairs)
        flops = _flops(model.shape, pairs[0][0]) / _flops(model.shape, pairs[0][1])
        found.append(Gain(model.shape.name, shared, ratio, flops))
        runs += [run for pair in pairs for run in pair]
    return found, runs


def _flops(shape: ModelShape, run: EngineRun) -> float:
    return sum(
        shape.prefill_flops(record.prompt_len - record.matched, record.matched) for record in run.records
    )


def host_of(model: Decoder, *, tokens: int, threads: int | None, seed: int) -> HostTier | None:
    """Prompts in turn through a pool that holds one of them: each comes back from the host."""
    jobs = prompts(3, tokens, 0.0, seed, 1)
    again = [type(job)(job.rid + 3 * turn, job.prompt, max_new=1) for turn in range(3) for job in jobs]
    run = _engine(model, int(1.5 * tokens), threads, cache=True, host=8.0).run(again, in_flight=1)
    if not run.loaded_tokens or not run.prefill_tokens:
        return None
    first = [run.request_prefill[rid] for rid in range(3)]
    return HostTier(run.loaded_tokens, run.load_seconds / run.loaded_tokens, sum(first) / (3 * tokens))


def points_of(runs: Sequence[EngineRun]) -> dict[str, list[dict[str, float]]]:
    """Measured passes: ``n`` new and ``c`` cached tokens; ``b`` sequences with ``ctx`` tokens in all."""
    prefill: list[dict[str, float]] = []
    decode: list[dict[str, float]] = []
    for run in runs:
        _add(run.schedule, prefill, decode)
    return {"prefill": prefill, "decode": decode}


def _add(schedule: Sequence[Step], prefill: list[dict[str, Any]], decode: list[dict[str, Any]]) -> None:
    held: dict[int, int] = {}
    for step in schedule:
        if len(step.prefill) == 1 and not step.decode:
            _, start, new = step.prefill[0]
            prefill.append({"n": new, "c": start, "seconds": step.seconds})
        for rid, start, new in step.prefill:
            held[rid] = start + new
        if step.decode and not step.prefill:
            count = len(step.decode)
            context = sum(held[rid] for rid in step.decode) + count * (step.passes + 1) / 2
            decode.append({"b": count, "ctx": context, "seconds": step.seconds / step.passes})
        for rid in step.decode:
            held[rid] += step.passes
