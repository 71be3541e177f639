from __future__ import annotations

import random
from dataclasses import astuple, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radixengine.blocks import BlockCache
from radixengine.cache import PrefixCache
from radixengine.config import Reservation, SchedulerConfig
from radixengine.executor import Batch, Outcome
from radixengine.jobs import Job, Record
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.scheduler import Scheduler, Step
from radixengine.state import Share, State

from tests.radixengine.workloads import (
    VLLM,
    Clockwork,
    pack,
    random_cache,
    random_config,
    random_jobs,
    run_of,
)

FREE = SchedulerConfig(reservation=None)


def serve(
    cache: PrefixCache, jobs: list[Job], config: SchedulerConfig = FREE, **given: int
) -> tuple[list[Record], list[Step]]:
    steps: list[Step] = []
    return Scheduler(cache, Clockwork(), config, steps.append).run(jobs, **given), steps


def test_a_page_that_no_chunk_can_hold_is_refused() -> None:
    cache = RadixCache(64, RadixProfile(page_size=16))
    with pytest.raises(ValueError, match="chunks of 8 tokens never hold a whole page of 16"):
        Scheduler(cache, Clockwork(), replace(FREE, chunk_tokens=8))
    assert Scheduler(cache, Clockwork(), replace(FREE, chunk_tokens=8, align_chunks=False))


def prefilled(steps: list[Step]) -> list[list[int]]:
    return [[rid for rid, _, _ in step.prefill] for step in steps if step.prefill]


def test_two_identical_requests_in_one_step_hit_only_where_blocks_are_visible_at_schedule_time() -> None:
    jobs = [Job(0, run_of(1, 40), run_of(2, 3)), Job(1, run_of(1, 40), run_of(3, 3))]
    records, steps = serve(RadixCache(1000), jobs)
    assert [record.matched for record in records] == [0, 0]
    assert prefilled(steps) == [[0, 1]]
    records, steps = serve(BlockCache(100, 16), jobs, replace(VLLM, chunk_tokens=1000))
    assert [record.matched for record in records] == [0, 32]
    assert prefilled(steps) == [[0, 1]]


def test_dedup_puts_the_duplicate_behind_so_that_it_hits_when_it_does_not_fit_the_same_step() -> None:
    """Three fit a step: without dedup the twins are computed together, with it the second waits and hits."""
    jobs = [Job(0, run_of(1, 40)), Job(1, run_of(1, 40)), Job(2, run_of(3, 40)), Job(3, run_of(4, 40))]
    config = replace(FREE, policy="lpm", max_running=3)
    records, steps = serve(RadixCache(1000), jobs, config)
    assert prefilled(steps) == [[0, 2, 3], [1]]
    assert [record.matched for record in records] == [0, 39, 0, 0]
    records, steps = serve(RadixCache(1000), jobs, replace(config, dedup_check=-1))
    assert prefilled(steps) == [[0, 1, 2], [3]]
    assert sum(record.matched for record in records) == 0


@pytest.mark.parametrize(("waiting", "first"), [(128, 127), (129, 0)])
def test_lpm_is_first_come_first_served_above_128_waiting_requests(waiting: int, first: int) -> None:
    """The last request alone has a cached prefix; LPM would take it first."""
    cache = RadixCache(100_000)
    warm = Job(999, run_of(500, 50))
    scheduler = Scheduler(cache, Clockwork(), SchedulerConfig(policy="lpm", max_running=1))
    scheduler.run([warm])
    for rid in range(waiting):
        scheduler.submit(Job(rid, run_of(500 if rid == waiting - 1 else rid, 60)))
    scheduler.step()
    admitted = [rid for rid, record in scheduler.records.items() if record.admitted == record.admitted]
    assert admitted == [999, first]


def test_chunks_end_at_pages_and_each_is_visible_once_computed() -> None:
    cache = RadixCache(1000, RadixProfile(page_size=16))
    config = replace(FREE, chunk_tokens=32)
    jobs = [Job(0, run_of(1, 100), run_of(2, 2)), Job(1, run_of(1, 60) + run_of(3, 30), arrival=0.5)]
    records, steps = serve(cache, jobs, config)
    assert [step.prefill for step in steps if step.prefill] == [
        ((0, 0, 32),),
        ((0, 32, 32),),
        ((0, 64, 32),),
        ((0, 96, 4), (1, 48, 16)),
        ((1, 64, 26),),
    ]
    assert [record.matched for record in records] == [0, 48]
    assert records[0].first_token == steps[3].start + steps[3].seconds


def test_decode_waits_for_prefill_unless_they_are_mixed() -> None:
    jobs = [Job(0, run_of(1, 10), run_of(2, 20)), Job(1, run_of(3, 100), run_of(4, 2), arrival=0.25)]
    config = replace(FREE, chunk_tokens=50)
    _, steps = serve(RadixCache(1000), jobs, config)
    assert all(not (step.prefill and step.decode) for step in steps)
    _, steps = serve(RadixCache(1000), jobs, replace(config, mixed=True))
    assert [step.prefill for step in steps if step.prefill and step.decode] == [
        ((1, 0, 49),),
        ((1, 49, 49),),
        ((1, 98, 2),),
    ]


def test_retraction_takes_the_fewest_outputs_and_the_request_resumes_behind_its_cached_prefix() -> None:
    """Two requests outgrow a pool of 60; the younger one goes, and comes back with its output as prompt."""
    jobs = [Job(0, run_of(1, 20), run_of(2, 20)), Job(1, run_of(3, 20), run_of(4, 20), arrival=2.0)]
    records, steps = serve(RadixCache(60), jobs)
    retracted = [step.retracted for step in steps if step.retracted]
    assert retracted == [(1,)]
    assert [record.retractions for record in records] == [0, 1]
    assert [record.emitted for record in records] == [20, 20]
    assert records[1].recomputed > 0 and not records[1].truncated
    again = [cut for step in steps for cut in step.prefill if cut[0] == 1][1]
    assert again[1] + again[2] > 20, "what was emitted is part of the prompt now"


def test_vllm_preempts_the_request_admitted_last_and_puts_it_first_in_the_queue() -> None:
    jobs = [Job(rid, run_of(rid, 16), run_of(10 + rid, 33)) for rid in range(3)]
    jobs.append(Job(3, run_of(7, 16), run_of(9, 2), arrival=0.25))
    records, steps = serve(BlockCache(5, 16), jobs, VLLM)
    assert next(step.retracted for step in steps if step.retracted) == (2,)
    assert [record.emitted for record in records] == [33, 33, 33, 2]
    assert [rid for batch in prefilled(steps) for rid in batch][-1] == 3


def test_a_request_larger_than_the_pool_is_refused_with_the_reason_and_the_others_go_on() -> None:
    jobs = [Job(0, run_of(1, 50)), Job(1, run_of(2, 101), run_of(3, 5)), Job(2, b""), Job(3, run_of(1, 60))]
    for cache in (RadixCache(100), BlockCache(101, 1)):
        records, _ = serve(cache, jobs, FREE if isinstance(cache, RadixCache) else VLLM)
        assert records[1].refused == "a prompt of 101 tokens needs 101 tokens of KV; the pool holds 100"
        assert records[2].refused == "the prompt is empty"
        assert [record.refused for record in (records[0], records[3])] == ["", ""]
        assert records[3].matched == 50


def test_a_request_that_pinned_tokens_leave_no_room_for_is_refused_too() -> None:
    cache = RadixCache(100)
    assert cache.pin(run_of(1, 40))
    records, _ = serve(cache, [Job(0, run_of(2, 70)), Job(1, run_of(1, 50))])
    assert (
        records[0].refused == "a prompt of 70 tokens does not fit: 60 of the pool's 100 tokens can be freed"
    )
    assert records[1].matched == 40


def test_an_output_longer_than_the_pool_is_cut_where_the_pool_is_full() -> None:
    records, _ = serve(RadixCache(30), [Job(0, run_of(1, 20), run_of(2, 50)), Job(1, run_of(3, 5))])
    assert records[0].truncated and records[0].emitted == 11
    assert not records[1].refused and not records[1].truncated


def test_outputs_stay_out_of_the_cache_on_request() -> None:
    first = Job(0, run_of(1, 20), run_of(2, 10))
    turn = Job(1, first.prompt + first.output + run_of(3, 5), arrival=100.0)
    assert serve(RadixCache(1000), [first, turn])[0][1].matched == 29
    kept = serve(RadixCache(1000), [first, turn], replace(FREE, cache_prompt_only=True))[0]
    assert kept[1].matched == 20


def test_reservations_hold_a_request_back_until_the_running_one_is_nearly_done() -> None:
    """The running request may still emit 100 tokens: 70 of them stay reserved, so the second waits."""
    jobs = [Job(0, run_of(1, 20), run_of(2, 100)), Job(1, run_of(3, 20), run_of(4, 10), arrival=1.0)]
    cautious, _ = serve(RadixCache(120), jobs, SchedulerConfig())
    bold, _ = serve(RadixCache(120), jobs, FREE)
    assert cautious[1].admitted == cautious[0].finished
    assert bold[1].admitted < bold[0].finished


def test_the_reserved_share_decays_linearly_and_a_retraction_raises_it() -> None:
    share = Share(Reservation(conservativeness=1.0))
    assert share.value() == pytest.approx(0.7)
    share.decoded(300)
    assert share.value() == pytest.approx(0.7 * (1 + 0.14) / 2)
    share.decoded(10_000)
    assert share.value() == pytest.approx(0.7 * 0.14)
    share.retracted([])
    assert share.value() == 1.0
    assert Share(Reservation(conservativeness=5.0)).value() == 1.0


def test_time_passes_while_nothing_is_served_and_arrivals_come_in_order() -> None:
    jobs = [Job(3, run_of(1, 9), run_of(2, 2), arrival=1.0), Job(5, run_of(1, 9), run_of(2, 2), arrival=9.0)]
    records, _ = serve(RadixCache(100), jobs)
    assert [record.rid for record in records] == [3, 5]
    assert [record.matched for record in records] == [0, 8]
    assert [record.admitted for record in records] == [1.0, 9.0]
    with pytest.raises(ValueError, match="request 3 arrives before its predecessor 5"):
        serve(RadixCache(100), jobs[::-1])
    with pytest.raises(ValueError, match="submitted before"):
        serve(RadixCache(100), [jobs[0], jobs[0]])


def test_clients_each_send_their_next_request_when_one_ends() -> None:
    jobs = [Job(rid, run_of(rid, 10), run_of(50 + rid, 4)) for rid in range(9)]
    scheduler = Scheduler(RadixCache(1000), Clockwork(), FREE, lambda step: peak.append(scheduler.unfinished))
    peak: list[int] = []
    records = scheduler.run(jobs, in_flight=2)
    assert max(peak) == 2
    finished = sorted(record.finished for record in records)
    assert all(record.arrival in (0.0, *finished) for record in records)


class Sampler:
    """Samples tokens that depend on nothing but what a sequence holds; some requests stop early."""

    def __init__(self, stops: dict[int, int]) -> None:
        self.stops = stops
        self.said: dict[int, bytes] = {}

    def lookahead(self, batch: Batch, seconds: float) -> int:
        return 1

    def run(self, batch: Batch) -> Outcome:
        seqs = [chunk.seq for chunk in batch.prefill if chunk.last] + list(batch.decode)
        tokens = {seq.rid: pack(len(seq.prompt + seq.output) // 4 * 7 + seq.rid) for seq in seqs}
        for rid, token in tokens.items():
            self.said[rid] = self.said.get(rid, b"") + token
        ended = [rid for rid in tokens if len(self.said[rid]) // 4 >= self.stops.get(rid, 99)]
        return Outcome(0.25, tokens, frozenset(ended))


@pytest.mark.parametrize("capacity", [1000, 60])
def test_sampled_tokens_are_cached_and_a_stop_token_ends_a_request(capacity: int) -> None:
    """With a pool of 60 requests are retracted in between; they say the same, and the next turn hits it."""
    jobs = [Job(rid, run_of(rid + 1, 12), max_new=20) for rid in range(3)]
    sampler = Sampler({1: 5})
    cache = RadixCache(capacity)
    records = Scheduler(cache, sampler, FREE).run(jobs)
    assert [record.emitted for record in records] == [20, 5, 20]
    assert any(record.retractions for record in records) == (capacity == 60)
    expected = {job.rid: pack(*(7 * (12 + at) + job.rid for at in range(20))) for job in jobs}
    expected[1] = expected[1][:20]
    assert sampler.said == expected
    if capacity == 1000:
        turn = Job(9, jobs[0].prompt + expected[0] + run_of(8, 2), max_new=1)
        assert Scheduler(cache, sampler, FREE).run([turn])[0].matched == 12 + 19


def test_a_request_waits_for_what_comes_from_the_external_tier_and_others_do_not() -> None:
    """300 tokens at 1,000 a second: evicted from device and host, but still in the third tier."""
    profile = RadixProfile(host_ratio=2.0, external_rate=1000.0)
    old = run_of(1, 300)
    jobs = [
        Job(0, old),
        Job(1, run_of(2, 380), arrival=50.0),
        Job(4, run_of(5, 390), arrival=75.0),
        Job(2, old + run_of(3, 10), arrival=100.0),
        Job(3, run_of(4, 10), arrival=100.125),
    ]
    records, _ = serve(RadixCache(400, profile), jobs)
    assert records[3].host == records[3].matched == 300
    assert 100.3 <= records[3].admitted < 101.0
    assert records[4].admitted == 100.125


def test_waiting_requests_are_matched_once_while_the_tree_stays_the_same() -> None:
    """A step that changes nothing in the tree looks up only what is new in the queue."""
    looked: list[int] = []

    class Counting(RadixCache):
        def peek(self, seq):  # type: ignore[no-untyped-def]
            looked.append(seq.rid)
            return super().peek(seq)

    cache = Counting(1000)
    config = SchedulerConfig(policy="lpm", refresh_waiting=False, max_running=2)
    scheduler = Scheduler(cache, Clockwork(), config)
    admission = scheduler._admission
    state = State()
    for rid in range(4):
        scheduler.submit(Job(rid, run_of(rid, 10)))
    state.waiting, state.unsorted = scheduler.state.waiting, True
    admission._order(state)
    assert looked == [0, 1, 2, 3]
    scheduler.submit(Job(4, run_of(4, 10)))
    state.waiting, state.unsorted = scheduler.state.waiting, True
    admission._order(state)
    state.epoch += 1
    assert looked == [0, 1, 2, 3, 4]
    admission._order(state)
    assert looked == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]


def play(seed: int, single: bool) -> tuple[list[tuple[object, ...]], object, int]:
    """Serve a random workload on a random engine and check every step's accounting."""
    rng = random.Random(seed)
    jobs = random_jobs(rng, rng.randint(1, 40), spread=rng.choice([0, 8, 60]))
    config = random_config(rng)
    cache = random_cache(rng, rng.choice([80, 150, 400, 4000]))
    if isinstance(cache, BlockCache):
        config = replace(config, visible_at_schedule=True)
    in_flight = rng.choice([None, None, 1, 5])
    steps = 0

    def check(step: Step) -> None:
        nonlocal steps
        steps += 1
        now = cache.occupancy()
        assert now.free + now.evictable + now.protected + now.held == now.total
        assert min(now) >= 0
        cache.audit()  # type: ignore[attr-defined]
        assert len(scheduler.state.running) <= config.max_running

    scheduler = Scheduler(cache, Clockwork(single), config, check)
    records = scheduler.run(jobs, in_flight)
    idle = cache.occupancy()
    assert idle.protected == idle.held == 0
    for job, record in zip(jobs, records, strict=True):
        assert record.rid == job.rid
        if record.refused:
            continue
        assert record.arrival <= record.admitted <= record.first_token <= record.finished
        assert 0 <= record.host <= record.matched < record.prompt_len
        assert record.truncated or record.emitted == len(job.output) // 4
    return [astuple(record) for record in records], idle, steps


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_jumping_over_decode_phases_equals_the_loop_over_every_token(seed: int) -> None:
    jumped, idle, fewer = play(seed, single=False)
    looped, same, more = play(seed, single=True)
    assert repr(jumped) == repr(looped)
    assert idle == same
    assert fewer <= more


def test_computed_and_matched_tokens_add_up_to_the_prompt_in_the_schedule() -> None:
    rng = random.Random(3)
    jobs = random_jobs(rng, 60)
    records, steps = serve(RadixCache(400), jobs, replace(FREE, policy="lpm", chunk_tokens=32))
    computed = dict.fromkeys(range(60), 0)
    for step in steps:
        for rid, _, tokens in step.prefill:
            computed[rid] += tokens
    for record in records:
        assert computed[record.rid] - record.recomputed + record.matched == record.prompt_len
