"""Simulate a log on one engine or a fleet: the engine's own cache and scheduler on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import inf, nan

from radixengine.cache import PrefixCache, Sequence
from radixengine.executor import Batch, Chunk
from radixengine.jobs import Job, Record
from radixengine.radix_cache import RadixCache
from radixengine.serial import serve

from radixadvisor.simulate.options import Options
from radixadvisor.simulate.pin import heaviest_prefixes
from radixadvisor.simulate.profiles import EngineProfile
from radixadvisor.simulate.replica import Replica
from radixadvisor.simulate.requests import TOKEN_BYTES, Requests
from radixadvisor.simulate.result import Meter, SimulationResult, Totals
from radixadvisor.simulate.routes import Router, router

__all__ = ["simulate"]

Outcomes = list[tuple[int, Record]]


def simulate(requests: Requests, profile: EngineProfile, options: Options | None = None) -> SimulationResult:
    """Serve a log as an engine would, with what ``options`` change.

    Requests come at the log's arrivals, or from ``options.concurrency`` clients. One client is served without
    batches, reservations or chunks, and its times are those of service alone.

    Raises:
        UsageError: the options do not fit the engine or the log; the message says what would.
    """
    options = options or Options()
    profile = options.applied_to(profile, requests.unit)
    capacity = options.capacity or _unlimited(requests, profile.page)
    totals = Totals()
    caches = [profile.build(capacity) for _ in range(options.replicas)]
    notes = [_pin(requests, caches, options, totals)] if options.pin else []
    route = router(options.route, requests, options.replicas, options.seed)
    if options.replicas > 1 and route.note:
        notes.append(route.note)
    clients = options.clients(requests)
    before = [cache.evicted for cache in caches]
    if clients == 1:
        meters = [Meter(cache, totals) for cache in caches]
        outcomes = list(_serially(requests, caches, route, options, meters, profile.bypass))
    else:
        fleet = [Replica(cache, profile, options, totals) for cache in caches]
        meters = [replica.meter for replica in fleet]
        if clients is None:
            _at_arrivals(requests, fleet, route, options, profile.bypass)
        else:
            _by_clients(requests, fleet, route, clients, profile.bypass)
        outcomes = [
            (number, record) for number, replica in enumerate(fleet) for record in replica.records.values()
        ]
    totals.evicted_tokens = sum(cache.evicted for cache in caches) - sum(before)
    if options.sampled is not None and options.sampled < 1:
        notes.append(
            f"the log is a {options.sampled:.4g} sample: hits across requests, lifetimes and what is in "
            "flight are lower bounds"
        )
    label = f"{profile.name} {profile.scheduler.policy}"
    return _columns(label, requests, outcomes, totals, meters, notes)


def job_of(requests: Requests, index: int, arrival: float = 0.0, features: Collection[str] = ()) -> Job:
    """A request as the scheduler of an engine takes it that looks nothing up for some ``features``."""
    priority = requests.priorities[index] if requests.priorities is not None else 0
    prompt, output = requests.prompt(index), requests.output(index)
    bypass = requests.bypasses(index, features)
    return Job(index, prompt, output, arrival, requests.namespace(index), priority, bypass=bypass)


def _unlimited(requests: Requests, page: int) -> int:
    """A pool that holds every token of the log at once."""
    tokens = 0
    for index in range(len(requests)):
        size = requests.length(index) + requests.output_length(index)
        tokens += -(-size // page) * page + page
    return max(tokens, page)


def _pin(requests: Requests, caches: list[PrefixCache], options: Options, totals: Totals) -> str:
    count = 0
    for namespace, key in heaviest_prefixes(requests, options.pin, caches[0].page_size):
        for cache in caches:
            assert isinstance(cache, RadixCache)
            cache.pin(key, namespace)
        count += 1
    totals.pinned_tokens = caches[0].occupancy().protected
    return (
        f"{totals.pinned_tokens} tokens of {count} branches are pinned; they were computed once, before the "
        "log begins"
    )


def _serially(
    requests: Requests,
    caches: list[PrefixCache],
    route: Router,
    options: Options,
    meters: list[Meter],
    features: Collection[str],
) -> Iterator[tuple[int, Record]]:
    """One request after the other; nothing waits, so no load ever differs."""
    clock = 0.0
    for index in requests.order():
        number = route.pick(index, lambda: [0] * len(caches), clock)
        job = job_of(requests, index, features=features)
        record = Record(index, len(job.prompt) // TOKEN_BYTES, clock)
        seconds = _serve_one(job, record, caches[number], options, meters[number])
        clock += seconds
        meters[number].totals.makespan = clock
        yield number, record


def _serve_one(job: Job, record: Record, cache: PrefixCache, options: Options, meter: Meter) -> float:
    seq = Sequence(job.rid, job.prompt, job.output, job.namespace, job.priority)
    seq.cache_prompt_only, seq.bypass = options.prompt_only, job.bypass
    if not seq.prompt_len:
        record.refused = "the prompt is empty"
        return 0.0
    served = next(serve(cache, [seq]))
    if not served.admitted:
        record.refused = (
            f"a prompt of {seq.prompt_len} tokens does not fit beside its {served.matched} matched ones "
            f"in a pool of {cache.capacity}"
        )
        return 0.0
    record.matched, record.host = served.matched + served.host, served.host
    new = seq.prompt_len - record.matched
    totals = meter.totals
    prefill = options.cost.run(Batch((Chunk(seq, record.matched, new, True),))).seconds
    decode = 0.0
    if served.decoded:
        decode = options.cost.run(Batch((), (seq,), served.decoded)).seconds
    totals.prefill_seconds += prefill
    totals.decode_seconds += decode
    totals.prefill_steps += 1
    totals.prefilled_tokens += new
    totals.decode_steps += served.decoded
    totals.decoded_tokens += served.decoded
    record.admitted = record.arrival
    record.first_token = record.arrival + prefill
    record.finished = record.first_token + decode
    record.truncated = not served.complete
    record.emitted = served.decoded + min(seq.output_len, 1)
    used = seq.prompt_len + served.decoded
    meter.peak = max(meter.peak, used)
    meter.busy += prefill + decode
    meter.area += used * (prefill + decode)
    return prefill + decode


def _at_arrivals(
    requests: Requests, fleet: list[Replica], route: Router, options: Options, features: Collection[str]
) -> None:
    arrivals = requests.arrivals
    assert arrivals is not None
    order = requests.order()
    origin = arrivals[order[0]] if order else 0.0
    for index in order:
        now = (arrivals[index] - origin) / options.speedup
        for replica in fleet:
            while replica.clock < now:
                replica.step(now)
        number = route.pick(index, _loads(fleet, now), now)
        fleet[number].send(job_of(requests, index, now, features), now)
    for replica in fleet:
        while replica.busy:
            replica.step(inf)


def _by_clients(
    requests: Requests, fleet: list[Replica], route: Router, clients: int, features: Collection[str]
) -> None:
    """Always step the replica that is furthest behind, at most one pass beyond the next one."""
    coming = iter(requests.order())
    idle, now = clients, 0.0
    while True:
        while idle and (index := next(coming, None)) is not None:
            number = route.pick(index, _loads(fleet, now), now)
            fleet[number].send(job_of(requests, index, now, features), now)
            idle -= 1
        replica = min(fleet, key=lambda replica: replica.clock)
        if not replica.busy:
            return
        horizon = min((other.clock for other in fleet if other is not replica), default=inf)
        ended = replica.ended
        replica.step(horizon)
        if replica.ended > ended:
            idle += replica.ended - ended
            now = max(now, replica.now)


def _loads(fleet: list[Replica], now: float) -> Callable[[], list[int]]:
    return lambda: [replica.load(now) for replica in fleet]


def _columns(
    label: str,
    requests: Requests,
    outcomes: Outcomes,
    totals: Totals,
    meters: list[Meter],
    notes: list[str],
) -> SimulationResult:
    import numpy as np

    count = len(requests)
    ints = {name: np.zeros(count, np.int64) for name in ("matched", "host", "retractions", "recomputed")}
    replica = np.full(count, -1, np.int64)
    floats = {name: np.full(count, nan) for name in ("ttft", "e2e", "queue", "finished")}
    refused, truncated = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    reasons: dict[int, str] = {}
    end = 0.0
    for number, record in outcomes:
        index = record.rid
        if record.refused:
            refused[index] = True
            reasons[index] = record.refused
            continue
        for name, column in ints.items():
            column[index] = getattr(record, name)
        replica[index] = number
        floats["ttft"][index] = record.first_token - record.arrival
        floats["e2e"][index] = record.finished - record.arrival
        floats["queue"][index] = record.admitted - record.arrival
        floats["finished"][index] = record.finished
        truncated[index] = record.truncated
        end = max(end, record.finished)
    totals.makespan = end
    lengths = np.fromiter((requests.length(index) for index in range(count)), np.int64, count)
    if refused.any():
        notes.append(f"{int(refused.sum())} requests were refused: they can never fit the pool")
    if truncated.any():
        notes.append(f"the pool cut the output of {int(truncated.sum())} requests short")
    return SimulationResult(
        label=label,
        prompt_tokens=lengths,
        matched_tokens=ints["matched"],
        host_tokens=ints["host"],
        computed_tokens=np.where(refused, 0, lengths - ints["matched"]),
        replica=replica,
        refused=refused,
        truncated=truncated,
        retractions=ints["retractions"],
        recomputed_tokens=ints["recomputed"],
        reasons=dict(sorted(reasons.items())),
        totals=totals,
        occupancy=tuple(meter.occupation() for meter in meters),
        notes=tuple(notes),
        **floats,
    )
