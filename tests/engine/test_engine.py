"""The engine as its callers see it: hits as simulated, measurements that add up, partial results."""

from __future__ import annotations

from array import array
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch
from radixengine.cache import Sequence
from radixengine.config import SchedulerConfig
from radixengine.engine import Engine, EngineOptions
from radixengine.jobs import Job
from radixengine.model import Decoder
from radixengine.profile import RadixProfile
from radixengine.recorded import ScheduleDiverged, simulate_recorded, simulated_cache
from radixengine.results import EngineRun
from radixengine.serial import serve
from radixengine.shapes import ModelShape
from radixengine.threads import best_threads
from radixengine.weights import random_model

from tests.engine.models import pair

SMALL = ModelShape("small", 1, 32, 2, 1, 16, 48, 64)


@pytest.fixture(scope="module")
def model() -> Decoder:
    return random_model(SMALL)


def rag_jobs(count: int, seed: int = 0, *, questions: int = 12, output: int = 6) -> list[Job]:
    """One of eight documents behind a common preamble, then a question; tokens of a large vocabulary."""
    rng = Random(seed)

    def some(size: int) -> list[int]:
        return [rng.randrange(100_000) for _ in range(size)]

    preamble, documents = some(20), [some(rng.randint(40, 120)) for _ in range(8)]
    prompts = [preamble + rng.choice(documents) + some(rng.randint(1, questions)) for _ in range(count)]
    return [
        Job(rid, array("i", prompt).tobytes(), arrival=rid * 0.002, max_new=rng.randint(0, output))
        for rid, prompt in enumerate(prompts)
    ]


def hits(run: EngineRun) -> list[int]:
    return [record.matched for record in run.records]


@pytest.mark.parametrize("page", [1, 16])
@pytest.mark.parametrize("host", [0.0, 2.0])
@pytest.mark.parametrize("capacity", [10_000, 400])
def test_hits_equal_the_simulation_request_for_request_when_served_one_at_a_time(
    model: Decoder, page: int, host: float, capacity: int
) -> None:
    jobs = rag_jobs(60)
    options = EngineOptions(
        capacity, profile=RadixProfile(page_size=page, host_ratio=host), threads=1, debug=True
    )
    run = Engine(model, options).run(jobs, in_flight=1)
    sequences = [Sequence(job.rid, job.prompt, run.outputs[job.rid]) for job in jobs]
    simulated = list(serve(simulated_cache(options), sequences))
    assert hits(run) == [served.matched + served.host for served in simulated]
    assert [record.host for record in run.records] == [served.host for served in simulated]
    assert bool(run.loaded_tokens) == bool(host and capacity == 400)
    assert run.loaded_tokens == sum(served.host for served in simulated)


@pytest.mark.parametrize("policy", ["fcfs", "lpm", "dfs-weight"])
@pytest.mark.parametrize("at_arrivals", [False, True])
@pytest.mark.parametrize("in_flight", [None, 4])
def test_hits_equal_the_simulation_of_the_recorded_schedule(
    model: Decoder, policy: str, at_arrivals: bool, in_flight: int | None
) -> None:
    jobs = rag_jobs(60)
    options = EngineOptions(500, scheduler=SchedulerConfig(policy=policy, chunk_tokens=128), threads=1)
    run = Engine(model, options).run(jobs, at_arrivals=at_arrivals, in_flight=in_flight)
    simulated = simulate_recorded(jobs, options, run, at_arrivals=at_arrivals, in_flight=in_flight)
    assert sum(hits(run)) > 0
    assert run.evicted_tokens > 0
    for mine, theirs in zip(run.records, simulated, strict=True):
        assert mine.matched == theirs.matched
        assert mine.first_token == pytest.approx(theirs.first_token)
        assert mine.emitted == theirs.emitted


def test_a_schedule_of_other_jobs_is_told_apart(model: Decoder) -> None:
    options = EngineOptions(2000, threads=1)
    run = Engine(model, options).run(rag_jobs(10))
    others = [replace(job, prompt=job.prompt + job.prompt[:4]) for job in rag_jobs(10)]
    with pytest.raises(ScheduleDiverged):
        simulate_recorded(others, options, run)


def test_lpm_hits_more_than_fcfs_under_pressure(model: Decoder) -> None:
    jobs = rag_jobs(100)

    def hit(policy: str) -> int:
        scheduler = SchedulerConfig(policy=policy, max_running=4, chunk_tokens=256)
        return sum(hits(Engine(model, EngineOptions(420, scheduler=scheduler, threads=1)).run(jobs)))

    assert hit("lpm") > 1.2 * hit("fcfs")


def test_what_is_measured_adds_up(model: Decoder) -> None:
    jobs = rag_jobs(40)
    engine = Engine(model, EngineOptions(3000, threads=1))
    for run in (engine.run(jobs), engine.run(jobs, at_arrivals=True)):
        assert run.complete
        assert run.prefill_tokens == sum(record.prompt_len - record.matched for record in run.records)
        assert run.decode_tokens == sum(max(record.emitted - 1, 0) for record in run.records)
        assert 0 < run.prefill_seconds + run.decode_seconds <= run.seconds
        assert run.seconds == pytest.approx(run.schedule[-1].start + run.schedule[-1].seconds)
        assert 0 < run.peaks.running <= run.peaks.used <= run.peaks.capacity
        assert run.peaks.evictable > 0
        for record in run.records:
            times = run.token_times[record.rid]
            assert (
                len(times) == len(run.gaps[record.rid]) == len(run.outputs[record.rid]) // 4 == record.emitted
            )
            assert np.all(np.diff(times) > 0)
            assert np.all(run.gaps[record.rid] >= 0)
            assert record.arrival <= record.admitted < record.first_token <= record.finished
            if record.emitted:
                assert times[0] == pytest.approx(record.first_token)
                assert times[-1] == pytest.approx(record.finished)


def test_a_run_can_be_repeated_and_starts_from_an_empty_cache(model: Decoder) -> None:
    engine = Engine(model, EngineOptions(500, threads=1))
    first, second = (engine.run(rag_jobs(30), in_flight=1) for _ in range(2))
    assert first.outputs == second.outputs
    assert hits(first) == hits(second)


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_stopped_run_keeps_what_it_has(model: Decoder, interrupt: bool) -> None:
    jobs = rag_jobs(60)
    engine = Engine(model, EngineOptions(500, threads=1))
    whole = engine.run(jobs, in_flight=2)
    ended = 0

    def progress(count: int) -> None:
        nonlocal ended
        ended = count
        if interrupt and count >= 20:
            raise KeyboardInterrupt

    part = engine.run(jobs, in_flight=2, progress=progress, stopped=lambda: ended >= 20)
    assert not part.complete
    finished = [record for record in part.records if record.finished == record.finished]
    assert 20 <= len(finished) < 60
    for record in finished:
        assert part.outputs[record.rid] == whole.outputs[record.rid]
    with pytest.raises(ValueError, match="only a complete run"):
        simulate_recorded(jobs, engine.options, part)


def test_jobs_that_cannot_be_served_are_refused_with_the_reason() -> None:
    decoder = pair("llama")[1]
    prompts = [[1, 2, 3], [1, 320, 2], [5] * 2040, [7] * 600, []]
    jobs = [Job(rid, array("i", prompt).tobytes(), max_new=10) for rid, prompt in enumerate(prompts)]
    ended: list[int] = []
    run = Engine(decoder, EngineOptions(500, threads=1)).run(jobs, progress=ended.append)
    reasons = [record.refused for record in run.records]
    assert reasons[0] == ""
    assert reasons[1] == "the prompt has tokens outside llama's vocabulary of 320"
    assert reasons[2] == "2040 + 10 tokens exceed llama's 2048"
    assert reasons[3].startswith("a prompt of 600 tokens needs 600 tokens of KV")
    assert reasons[4] == "the prompt is empty"
    assert run.complete
    assert ended[-1] == 5


def test_a_job_without_max_new_generates_as_much_as_was_recorded(model: Decoder) -> None:
    prompt = array("i", range(30)).tobytes()
    jobs = [Job(0, prompt, output=bytes(4 * 5)), Job(1, prompt), Job(2, prompt, output=bytes(40), max_new=3)]
    run = Engine(model, EngineOptions(500, threads=1)).run(jobs, in_flight=1)
    assert [len(run.outputs[rid]) // 4 for rid in range(3)] == [5, 0, 3]
    assert run.outputs[0][:12] == run.outputs[2]


def test_no_jobs_are_a_complete_run(model: Decoder) -> None:
    run = Engine(model, EngineOptions(500, threads=1)).run([])
    assert run.complete
    assert run.records == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"capacity": 8, "profile": RadixProfile(page_size=16)}, "a page of 16 tokens, got 8"),
        ({"cache": "tree"}, "Unknown cache 'tree'"),
        ({"cache": "none", "profile": RadixProfile(host_ratio=1.0)}, "Only the radix cache has a host tier"),
        ({"cache": "blocks"}, "goes with visible_at_schedule"),
        ({"scheduler": SchedulerConfig(visible_at_schedule=True)}, "'radix' without"),
        ({"profile": RadixProfile(host_ratio=1.0, external_rate=1.0)}, "only simulated"),
        ({"threads": 0}, "at least one thread"),
        ({"backend": "flash"}, "Unknown attention 'flash'. Known: auto, sdpa, split."),
        ({"capacity": 10**15}, "No room for a KV pool of 1000000000000000 tokens"),
        ({"capacity": 40, "profile": RadixProfile(16, host_ratio=0.1)}, "holds no page"),
    ],
)
def test_options_that_cannot_be_served_say_why(
    model: Decoder, given: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Engine(model, EngineOptions(**{"capacity": 500, "threads": 1, **given}))  # type: ignore[arg-type]


def test_threads_are_tried_and_reported(model: Decoder) -> None:
    before = torch.get_num_threads()
    assert best_threads(model) in (1, 2)
    engine = Engine(model, EngineOptions(500))
    assert engine.threads in (1, 2)
    assert engine.run(rag_jobs(2)).threads == engine.threads
    assert torch.get_num_threads() == before


def test_random_weights_are_the_same_for_the_same_seed() -> None:
    one, two, other = (random_model(SMALL, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.embed, two.embed)
    assert not torch.equal(one.embed, other.embed)
