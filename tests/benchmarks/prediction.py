"""How a calibration on half of a replay predicts the other half: ``python -m tests.benchmarks.prediction``.

Each sample's first half is served by the bundled engine on the CPU, without a cache and with it; its passes
are fitted. The second half is then predicted by the same scheduler on the fitted seconds, and served. Rounds
of both alternate, so that a busy machine slows both; equal passes are averaged over the rounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

import numpy as np
from radixengine.jobs import Job, Record
from radixengine.recorded import simulated_cache
from radixengine.results import EngineRun
from radixengine.scheduler import Scheduler, Step

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.predict.calibrate import Calibration, calibrate
from radixadvisor.predict.executor import CostExecutor
from radixadvisor.predict.points import Points, step_points
from radixadvisor.replaying.expected import Setting, with_outputs
from radixadvisor.replaying.machine import Machine, choose_model
from radixadvisor.replaying.options import ReplayOptions
from radixadvisor.replaying.vocabulary import ids_for
from radixadvisor.simulate.profiles import engine

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOGS = {"RAG": "rag-consistent", "agent": "agent-tools", "chat": "long-system-chat"}
CLIENTS, LONGEST, ROUNDS = 8, 32, 5
GATES = {"throughput": 0.10, "TTFT p50": 0.15, "hits": 0.01}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds, median seconds to the first token, and hits as a share of the prompt tokens."""

    seconds: float
    ttft: float
    hits: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per sample and setting; 1 if a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times that everything is served")
    rounds = parser.parse_args(arguments).rounds
    options = ReplayOptions(model="tiny", concurrency=CLIENTS, threads=1)
    machine = Machine(options, choose_model(options, []))
    missed = False
    for kind, name in LOGS.items():
        jobs, setting = prepared(SAMPLES / f"{name}.jsonl", machine)
        half = len(jobs) // 2
        first, second = jobs[:half], jobs[half:]
        settings = {"without a cache": replace(setting, cache=False), "with it": setting}
        machine.run(first[:16], setting)
        fitted: dict[str, list[EngineRun]] = {label: [] for label in settings}
        served: dict[str, list[EngineRun]] = {label: [] for label in settings}
        for _ in range(rounds):
            for label, made in settings.items():
                fitted[label].append(machine.run(first, made))
                served[label].append(machine.run(second, made))
        found = calibrate(joined([step_points(typical(runs)) for runs in fitted.values()]), "tiny", "cpu")
        for reason in found.failures:
            print(f"{kind}: {reason}")
        for label, made in settings.items():
            expected, measured = predicted(second, made, found), observed(second, served[label])
            missed |= report(f"{kind} {label}", expected, measured, served[label])
        missed |= bool(found.failures)
    return 1 if missed else 0


def prepared(path: Path, machine: Machine) -> tuple[list[Job], Setting]:
    """A log's requests in the model's ids, and a pool that holds them all."""
    trace, _ = open_trace([str(path)], AnalyzeOptions())
    ids = ids_for(trace, trace.order, 1, machine.shape.vocab)
    jobs = [
        Job(
            index,
            ids.encode(trace.prompt(index)),
            namespace=trace.namespace(index),
            max_new=min(max(trace.output_lengths[index], 1), LONGEST),
        )
        for index in trace.order
    ]
    pool = sum(len(job.prompt) // 4 + LONGEST for job in jobs)
    scheduler = engine("sglang").with_policy("lpm").scheduler
    return jobs, Setting(True, pool, 1, 0.0, scheduler, CLIENTS)


def typical(runs: Sequence[EngineRun]) -> list[Step]:
    """The schedule that all runs share, each step with its mean seconds."""
    shapes = {tuple((step.prefill, step.decode, step.passes) for step in run.schedule) for run in runs}
    if len(shapes) > 1:
        raise SystemExit("equal runs were scheduled differently")
    steps = zip(*(run.schedule for run in runs), strict=True)
    return [same[0]._replace(seconds=fmean(step.seconds for step in same)) for same in steps]


def joined(points: Sequence[Points]) -> Points:
    """All passes together."""
    return Points(
        tuple(one for part in points for one in part.prefill),
        tuple(one for part in points for one in part.decode),
    )


def predicted(jobs: Sequence[Job], setting: Setting, found: Calibration) -> Outcome:
    """The scheduler on the fitted seconds."""
    scheduler = Scheduler(simulated_cache(setting.engine()), CostExecutor(found), setting.scheduler)
    records = scheduler.run(with_outputs(jobs), CLIENTS)
    return outcome(jobs, records, scheduler.clock)


def observed(jobs: Sequence[Job], runs: Sequence[EngineRun]) -> Outcome:
    """The mean of several runs; of the waits, which a single slow pass can shift, the median."""
    made = [outcome(jobs, run.records, run.seconds) for run in runs]
    return Outcome(
        fmean(one.seconds for one in made), median(one.ttft for one in made), median(one.hits for one in made)
    )


def outcome(jobs: Sequence[Job], records: Sequence[Record], seconds: float) -> Outcome:
    prompts = sum(len(job.prompt) // 4 for job in jobs)
    waits = [record.first_token - record.arrival for record in records]
    return Outcome(seconds, float(np.median(waits)), sum(record.matched for record in records) / prompts)


def report(label: str, expected: Outcome, measured: Outcome, runs: Sequence[EngineRun]) -> bool:
    """Print what was predicted and measured; whether a gate is missed."""
    errors = {
        "throughput": measured.seconds / expected.seconds - 1,
        "TTFT p50": expected.ttft / measured.ttft - 1,
        "hits": expected.hits - measured.hits,
    }
    spread = max(run.seconds for run in runs) / min(run.seconds for run in runs) - 1
    told = ", ".join(f"{name} {error:+.1%}" for name, error in errors.items())
    missed = [name for name, error in errors.items() if abs(error) > GATES[name]]
    verdict = f"MISSED {', '.join(f'{name} ({GATES[name]:.0%})' for name in missed)}" if missed else "holds"
    print(
        f"{label:22} {expected.seconds:6.2f} s for {measured.seconds:6.2f} s: {told}; {verdict} "
        f"(runs differ by {spread:.0%})"
    )
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
