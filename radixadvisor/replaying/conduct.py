"""The conductor of a replay: from a trace to runs on a model, each set against what was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from radixengine.shapes import ModelShape

from radixadvisor.errors import UsageError
from radixadvisor.ingest import Log
from radixadvisor.replaying.agreement import TOLERANCES, agreement
from radixadvisor.replaying.claims import claims_of
from radixadvisor.replaying.decision import Foreseen, decision_of
from radixadvisor.replaying.expected import Setting
from radixadvisor.replaying.machine import Machine, choose_model
from radixadvisor.replaying.measured import result_of, typical
from radixadvisor.replaying.options import ReplayOptions
from radixadvisor.replaying.orders import orders_of
from radixadvisor.replaying.planning import Plan, capacity_of, fitting, jobs_of, plans_of
from radixadvisor.replaying.results import Agreement, OrderInfo, Replay, RunResult
from radixadvisor.replaying.sizing import distinct_tokens, size_of
from radixadvisor.replaying.vocabulary import ids_for
from radixadvisor.simulate.profiles import engine
from radixadvisor.trace import TokenOptions, Trace

if TYPE_CHECKING:
    from radixengine.results import EngineRun

__all__ = ["replay_trace"]

_ENGINE = "sglang"
_CLIENTS = 8
_CROWD = 32
"""Clients of a matrix: as many as make a queue that policies can order."""

_WARM_UP = 4
"""Requests served beforehand, so that the first run pays for no kernel and no allocation."""

Progress = Callable[[int, int], None]
"""Called with the requests served so far and those there are, over all runs."""


def replay_trace(
    trace: Trace,
    log: Log,
    options: ReplayOptions,
    tokens: TokenOptions,
    progress: Progress | None = None,
    expected: Foreseen | None = None,
) -> Replay:
    """Run a log on a model as ``options`` say. KeyboardInterrupt ends it with what is measured by then.

    ``expected`` is the decision that the runs are to confirm or refute; None if there is none.

    Raises:
        UsageError: the log lacks what an option needs, or the model or the engine cannot take it.
    """
    if options.arrivals and not trace.timed:
        raise UsageError("--arrivals needs a timestamp with every request; this log lacks some.")
    choice = choose_model(options, _models(trace))
    machine = Machine(options, choice)
    sizing = size_of(
        trace.order,
        trace.lengths,
        device=options.device,
        limited=options.limit is not None,
        scale=options.scale,
        max_new=options.max_new,
    )
    vocab = None if machine.random else machine.shape.vocab
    orders, missing = orders_of(
        trace,
        sizing.chosen,
        ids_for(trace, sizing.chosen, sizing.scale, vocab),
        rewritten=options.matrix,
        shuffled_with=tokens if options.matrix or options.shuffled else None,
        seed=options.seed,
    )
    sizing, orders = fitting(sizing, orders, machine)
    namespaces = [trace.namespace(index) for index in sizing.chosen]
    infos = [
        OrderInfo(
            order.name, order.tokens, distinct_tokens(list(order.prompts.values()), namespaces), order.edits
        )
        for order in orders
    ]
    jobs = {order.name: jobs_of(trace, order, sizing, options) for order in orders}
    clients = None if options.arrivals else options.concurrency or (_CROWD if options.matrix else _CLIENTS)
    capacity, notes = capacity_of(options, machine, jobs, infos)
    base = Setting(
        cache=True,
        capacity=capacity,
        page=options.page,
        host_ratio=options.host_ratio,
        scheduler=replace(engine(_ENGINE).scheduler, seed=options.seed),
        clients=clients,
    )
    plans = plans_of(orders, jobs, base, options)
    runs, complete = _run_all(plans, machine, options, progress)
    decision = None if expected is None else decision_of(expected, runs)
    return Replay(
        files=tuple(log.files),
        dialect=log.dialect,
        requests=len(sizing.chosen),
        skipped=trace.skips.total,
        ids={index: trace.requests[index].id for index in sizing.chosen},
        setup={
            **machine.facts(),
            "scale": sizing.scale,
            "max_new": sizing.max_new,
            "capacity": capacity,
            "page": options.page,
            "host_ratio": options.host_ratio,
            "clients": clients,
            "arrivals": options.arrivals,
            "speedup": options.speedup,
            "repeat": options.repeat,
            "tolerance": _tolerance(options, machine),
            "seed": options.seed,
        },
        orders=tuple(infos),
        runs=runs,
        claims=(*([] if decision is None else [decision]), *claims_of(runs)),
        notes=(*([choice.note] if choice.note else []), *sizing.notes, *notes),
        not_evaluated={f"orders.{name}": reason for name, reason in missing.items()},
        complete=complete,
    )


def _models(trace: Trace) -> list[str]:
    return [name for name, _ in Counter(request.model for request in trace.requests).most_common()]


def _run_all(
    plans: Sequence[Plan], machine: Machine, options: ReplayOptions, progress: Progress | None
) -> tuple[tuple[RunResult, ...], bool]:
    """The results, and whether all runs came to their end.

    Repeats go through all settings in turn, so that a machine that grows slower does so for all of them.
    """
    served = _Served(sum(len(plan.jobs) for plan in plans) * options.repeat, progress)
    runs: list[list[EngineRun]] = [[] for _ in plans]
    complete = True
    try:
        warm = machine.run(plans[0].jobs[:_WARM_UP], replace(plans[0].setting, clients=_WARM_UP))
        if not warm.complete:
            raise KeyboardInterrupt
        for _ in range(options.repeat):
            for plan, made in zip(plans, runs, strict=True):
                made.append(machine.run(plan.jobs, plan.setting, served))
                if not made[-1].complete:
                    raise KeyboardInterrupt
                served.before += len(plan.jobs)
    except KeyboardInterrupt:
        complete = False
    return _results(plans, runs, machine.shape, _tolerance(options, machine)), complete


@dataclass(slots=True)
class _Served:
    """Adds the requests of earlier runs to those of the present one."""

    total: int
    progress: Progress | None
    before: int = 0

    def __call__(self, count: int) -> None:
        if self.progress is not None:
            self.progress(self.before + count, self.total)


def _results(
    plans: Sequence[Plan], runs: Sequence[Sequence[EngineRun]], shape: ModelShape, tolerance: float
) -> tuple[RunResult, ...]:
    """The results of all settings that ran to their end, or at least served a request."""
    pairs = [(plan, made) for plan, made in zip(plans, runs, strict=True) if made]
    without = {plan.order.name: typical(made) for plan, made in pairs if not plan.setting.cache}
    found = []
    for plan, made in pairs:
        name = plan.order.name
        same = _worst(without[name], made, tolerance) if plan.setting.cache else None
        found.append(result_of(name, plan.setting, plan.jobs, made, plan.expected, shape, same))
    return tuple(run for run in found if run.complete or run.requests)


def _worst(without: EngineRun, runs: Sequence[EngineRun], tolerance: float) -> Agreement:
    """The comparison of the repeat that agrees least."""
    found = [agreement(without, run, tolerance) for run in runs]
    return max(found, key=lambda one: (len(one.failures), len(one.differences)))


def _tolerance(options: ReplayOptions, machine: Machine) -> float:
    return TOLERANCES[machine.dtype] if options.tolerance is None else options.tolerance
