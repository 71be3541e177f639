"""What is to be run: jobs in the model's ids, the pool, and the settings with their expected hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from radixengine.cache import TOKEN_BYTES
from radixengine.jobs import Job

from radixadvisor.errors import UsageError
from radixadvisor.replaying.expected import Setting, expected_hits
from radixadvisor.replaying.machine import Machine
from radixadvisor.replaying.options import ReplayOptions
from radixadvisor.replaying.orders import Order
from radixadvisor.replaying.results import OrderInfo
from radixadvisor.replaying.sizing import Sizing
from radixadvisor.trace import Trace

__all__ = ["Plan", "capacity_of", "fitting", "jobs_of", "plans_of"]

_POLICIES = ("fcfs", "lpm", "dfs-weight")

_PRESSURE = 5
"""The pool of a matrix holds the longest request and one part in so many of the distinct prompt tokens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One setting on one order. ``expected``: hits by request."""

    order: Order
    jobs: tuple[Job, ...]
    setting: Setting
    expected: dict[int, int]


def fitting(sizing: Sizing, orders: tuple[Order, ...], machine: Machine) -> tuple[Sizing, tuple[Order, ...]]:
    """Only requests that the model has positions for, in every order; random weights take any."""
    if machine.random:
        return sizing, orders
    room = (machine.shape.max_position - sizing.max_new) * TOKEN_BYTES
    fit = [index for index in sizing.chosen if all(len(order.prompts[index]) <= room for order in orders)]
    out = len(sizing.chosen) - len(fit)
    name = f"{machine.shape.name}'s {machine.shape.max_position} positions"
    if not fit:
        raise UsageError(f"No request fits {name}: --scale K makes K tokens one.")
    if not out:
        return sizing, orders
    note = f"{out} requests are left out: they do not fit {name}; --scale K makes K tokens one"
    kept = tuple(replace(order, prompts={index: order.prompts[index] for index in fit}) for order in orders)
    return replace(sizing, chosen=tuple(fit), notes=(*sizing.notes, note)), kept


def jobs_of(trace: Trace, order: Order, sizing: Sizing, options: ReplayOptions) -> tuple[Job, ...]:
    """The requests in order of arrival, as the engine takes them."""
    first = trace.requests[sizing.chosen[0]].arrival or 0.0
    found = []
    for index in sizing.chosen:
        request = trace.requests[index]
        wanted = -(-trace.output_lengths[index] // sizing.scale)
        found.append(
            Job(
                rid=index,
                prompt=order.prompts[index],
                arrival=((request.arrival or 0.0) - first) / options.speedup if options.arrivals else 0.0,
                namespace=trace.namespace(index),
                priority=request.priority,
                max_new=min(max(wanted, 1), sizing.max_new),
            )
        )
    return tuple(found)


def capacity_of(
    options: ReplayOptions, machine: Machine, jobs: Mapping[str, Sequence[Job]], infos: Sequence[OrderInfo]
) -> tuple[int, list[str]]:
    """The pool, and what has to be said of it."""
    page = options.page
    room = machine.room(options.host_ratio) // page * page
    if options.capacity is not None:
        if options.capacity > room:
            raise UsageError(
                f"A pool of {options.capacity} tokens does not fit the memory that is free; {room} would."
            )
        return options.capacity, []
    if options.matrix:
        longest = max(_size(job) for made in jobs.values() for job in made)
        fewest = min(infos, key=lambda info: info.distinct_tokens)
        wanted = longest + fewest.distinct_tokens // _PRESSURE + 2 * page
        note = (
            f"the pool of {wanted // page * page} tokens puts the cache under pressure: it holds the longest "
            f"request and a fifth of the distinct tokens; --capacity N sets another"
        )
    else:
        wanted = max(sum(_size(job) + 2 * page for job in made) for made in jobs.values())
        note = ""
    capacity = min(wanted // page * page, room)
    if capacity < wanted // page * page:
        note = f"the pool is limited to {capacity} tokens by the memory that is free"
    return capacity, [note] if note else []


def _size(job: Job) -> int:
    """Tokens of prompt and output."""
    return len(job.prompt) // TOKEN_BYTES + (job.max_new or 0)


def plans_of(
    orders: Sequence[Order], jobs: dict[str, tuple[Job, ...]], base: Setting, options: ReplayOptions
) -> list[Plan]:
    """Without a cache, then with it: under every policy of a matrix, else under the one that is expected to
    hit most.
    """
    plans = []
    chosen: list[Setting] | None = None
    for order in orders:
        made = jobs[order.name]
        off = _off(base)
        plans.append(Plan(order, made, off, expected_hits(made, off)))
        if not plans[-1].expected:
            least = min(len(job.prompt) // TOKEN_BYTES for job in made)
            raise UsageError(
                f"No prompt fits a pool of {base.capacity} tokens, the shortest has {least}: give a larger "
                "--capacity, or --scale K to make K tokens one."
            )
        settings = [_with_policy(base, policy) for policy in options.policies or _POLICIES]
        expected = {setting.label: expected_hits(made, setting) for setting in chosen or settings}
        if chosen is None and not options.matrix and options.policies is None:
            chosen = [max(settings, key=lambda setting: sum(expected[setting.label].values()))]
        plans += [Plan(order, made, setting, expected[setting.label]) for setting in chosen or settings]
    return plans


def _off(base: Setting) -> Setting:
    return replace(base, cache=False, host_ratio=0.0)


def _with_policy(base: Setting, policy: str) -> Setting:
    return replace(base, scheduler=replace(base.scheduler, policy=policy))
