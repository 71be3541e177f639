"""Speed of the engine on the CPU: ``python -m tests.benchmarks.engine [threads] [prompt tokens ...]``.

``tiny`` in float32, twelve requests, one at a time. Prompts share a prefix of 0, 50 or 90 %. Printed are the
seconds of prefill without and with the cache, the ratio of the two, and the ratio of the FLOPs that they took
(medians over three repeats, off and on in turn); then decode, tokens per second by the number of sequences.
Without ``threads`` the engine tries 1 and 2.
"""

from __future__ import annotations

import sys
from array import array
from random import Random
from statistics import median

from radixengine.engine import Engine, EngineOptions, EngineRun
from radixengine.jobs import Job
from radixengine.model import Decoder
from radixengine.shapes import TINY, ModelShape
from radixengine.threads import best_threads
from radixengine.weights import random_model

REPEATS = 3
REQUESTS = 12
LENGTHS = (1024, 2048, 4096)
OUTPUT = 8


def workload(count: int, tokens: int, shared: float, output: int = OUTPUT) -> list[Job]:
    """Prompts of equal length with one common prefix."""
    rng = Random(1)

    def some(size: int) -> array[int]:
        return array("i", [rng.randrange(100_000) for _ in range(size)])

    prefix = some(round(tokens * shared))
    prompts = [(prefix + some(tokens - len(prefix))).tobytes() for _ in range(count)]
    return [Job(rid, prompt, max_new=output) for rid, prompt in enumerate(prompts)]


def prefill_flops(shape: ModelShape, run: EngineRun) -> float:
    """FLOPs of the prompt tokens that were computed."""
    return sum(
        shape.prefill_flops(record.prompt_len - record.matched, record.matched) for record in run.records
    )


def compare(model: Decoder, threads: int, jobs: list[Job]) -> tuple[float, float, float, float]:
    """(seconds of prefill off, on; ratio of seconds, of FLOPs), medians over the repeats."""
    capacity = 2 * sum(len(job.prompt) // 4 + OUTPUT for job in jobs)
    off = Engine(model, EngineOptions(capacity, "none", threads=threads))
    on = Engine(model, EngineOptions(capacity, "radix", threads=threads))
    for engine in (off, on):
        engine.run(jobs[:2], in_flight=1)
    pairs = [(off.run(jobs, in_flight=1), on.run(jobs, in_flight=1)) for _ in range(REPEATS)]
    flops = prefill_flops(model.shape, pairs[0][0]) / prefill_flops(model.shape, pairs[0][1])
    return (
        median(one.prefill_seconds for one, _ in pairs),
        median(two.prefill_seconds for _, two in pairs),
        median(one.prefill_seconds / two.prefill_seconds for one, two in pairs),
        flops,
    )


def main() -> None:
    """Print one line per length and share, and one per number of sequences."""
    given = [int(value) for value in sys.argv[1:]]
    model = random_model(TINY)
    threads = given[0] if given else best_threads(model)
    print(f"{TINY.name}, float32, {threads} threads, {REQUESTS} prompts, one at a time")
    for tokens in given[1:] or LENGTHS:
        for shared in (0.0, 0.5, 0.9):
            off, on, seconds, flops = compare(model, threads, workload(REQUESTS, tokens, shared))
            print(
                f"{tokens:5} tokens, {shared:4.0%} shared: prefill {off:.3f} s off, {on:.3f} s on, "
                f"ratio {seconds:.2f}, FLOPs {flops:.2f}: {seconds / flops:.1%} of it",
                flush=True,
            )
    for sequences in (1, 8, 32):
        jobs = workload(sequences, 512, 0.5, output=64)
        run = Engine(model, EngineOptions(sequences * 1024, threads=threads)).run(jobs)
        print(f"decode {sequences:3} sequences: {run.decode_tokens / run.decode_seconds:.0f} tokens/s")


if __name__ == "__main__":
    main()
