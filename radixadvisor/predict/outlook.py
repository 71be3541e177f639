"""From a workload and a target to a prediction: in closed form always, simulated where there is a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from radixadvisor.errors import UsageError
from radixadvisor.predict.calibrate import THROUGHPUT_GATE
from radixadvisor.predict.clock import CLIENTS, LONG, Clock, first_requests
from radixadvisor.predict.closed_form import GpuTime, closed_form, decode_batch, gpus_needed
from radixadvisor.predict.executor import Seconds
from radixadvisor.predict.published import references
from radixadvisor.predict.rates import highest_load, planned_load
from radixadvisor.predict.results import Interval, Outlook, Prediction
from radixadvisor.predict.standing import host_seconds, points_of
from radixadvisor.predict.target import STAND_IN_MODEL, Target
from radixadvisor.predict.workload import Form, Workload
from radixadvisor.simulate.profiles import EngineProfile, engine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["BASELINES", "FIXED", "FIXED_BLOCKS", "QUANTILES", "RADIX_ENGINE", "SHARES", "predict"]

BASELINES = ("none", "vllm")
RADIX_ENGINE = "sglang"
FIXED, FIXED_BLOCKS = "fixed", "fixed_vllm"
"""The radix engine and the block cache after the prescriptions."""

SHARES = (0.5, 0.7, 0.9)
"""Loads, as shares of an engine's own capacity, at which times are told."""

QUANTILES = ("p50", "p95", "p99")

_LEAST_ERROR = 0.02


def predict(
    workload: Workload, target: Target, *, baseline: str = "none", rate: float | None = None, seed: int = 0
) -> Prediction:
    """What caches bring for a workload on a target.

    Args:
        workload: the log.
        target: the model and cards, or a calibration.
        baseline: ``none`` or ``vllm``.
        rate: requests per second that arrive; None for the log's own arrivals.
        seed: for Poisson arrivals.

    Raises:
        UsageError: the model does not fit the cards, or the rate is not above 0.
    """
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(f"The rate is in requests per second, above 0, not {rate:g}.")
    return _Forecast(workload, target, baseline, rate, seed).prediction()


@dataclass(slots=True)
class _Forecast:
    workload: Workload
    target: Target
    baseline: str
    rate: float | None
    seed: int
    missing: dict[str, str] = field(default_factory=dict)

    def prediction(self) -> Prediction:
        target = self.target
        roofline = target.roofline()
        pool = target.pool(roofline)
        cost = target.cost()
        outlooks, times, forms = {}, {}, {}
        for name, form, served_by in self._forms():
            cached = form.cached[served_by]
            outlook = None
            if target.simulated and form.requests is not None:
                outlook, cached = self._simulated(name, form, served_by, pool, cost)
                form = Form(form.lengths[: len(cached)], {served_by: cached})
            forms[name] = (form.lengths, cached)
            times[name] = self._time(cost, *forms[name], pool)
            outlooks[name] = _completed(outlook, name, form.lengths, cached, times[name])
        on = RADIX_ENGINE
        closed = _ratio(times[self.baseline], times[on])
        ratio = closed
        off_now, on_now = outlooks[self.baseline].saturation, outlooks[on].saturation
        if off_now is not None and on_now is not None and off_now.requests:
            ratio = on_now.requests / off_now.requests
        saved = 1 - times[on].prefill_on / times[self.baseline].prefill_on
        interval, saved_interval, factors = self._intervals(forms, on, pool, ratio, closed, saved)
        self._explain(outlooks, on)
        if times["none"].bound is None:
            self.missing["throughput_ratio_bound"] = "nothing is decoded: all time is prefill"
        share = times["none"].prefill_share
        return Prediction(
            model=target.model_name,
            gpu=None if target.gpu is None else target.gpu.name,
            stand_in=(roofline.model.name, roofline.gpu.name),
            cards=roofline.tensor_parallel,
            weights=target.weights or roofline.model.weights,
            kv=target.kv,
            pool=pool,
            baseline=self.baseline,
            on=on,
            prefill_share=share,
            bound=times["none"].bound,
            time_saved=saved,
            ratio=ratio,
            closed=closed,
            interval=interval,
            saved_interval=saved_interval,
            times_factor=factors,
            load=self._load(),
            outlooks=outlooks,
            points=points_of(roofline, forms, self.workload.outputs, pool) if target.on_roofline else {},
            host=host_seconds(roofline, *forms[on]) if target.gpu is not None else None,
            calibration=_measured(target),
            requests=len(forms["none"][0]),
            references=references(
                {
                    "ratio_none": outlooks[on].gain,
                    "ratio_vllm": _ratio(times["vllm"], times[on]),
                    "hit_rate": outlooks[on].rate,
                    "time_saved": outlooks[on].time_saved,
                }
            ),
            missing=self.missing,
        )

    def _forms(self) -> list[tuple[str, Form, str]]:
        """Name of the outlook, form of the log, engine whose cache serves it."""
        given = self.workload.given
        found = [(name, given, name) for name in (*BASELINES, RADIX_ENGINE)]
        if self.workload.fixed is not None:
            found.append((FIXED_BLOCKS, self.workload.fixed, "vllm"))
            found.append((FIXED, self.workload.fixed, RADIX_ENGINE))
        return found

    def _time(self, cost: Seconds, lengths: Counts, cached: Counts, pool: int | None) -> GpuTime:
        outputs = self.workload.outputs[: len(lengths)]
        batch = CLIENTS if pool is None else decode_batch(lengths, outputs, pool, CLIENTS)
        return closed_form(cost, cached, lengths, outputs, batch)

    def _load(self) -> float | None:
        """Requests per second."""
        if self.rate is not None:
            return self.rate
        span = self.workload.span
        return len(self.workload.outputs) / span if span else None

    def _simulated(
        self, name: str, form: Form, served_by: str, pool: int | None, cost: Seconds
    ) -> tuple[Outlook, Counts]:
        """An engine's outlook without the closed form's part, and its hits at saturation."""
        assert form.requests is not None
        log, profile = first_requests(form.requests, LONG), _engine(served_by)
        cached = form.cached[RADIX_ENGINE]
        distinct = int((form.lengths - cached)[: len(log)].sum() + self.workload.outputs[: len(log)].sum())
        clock = Clock(profile, pool, cost, distinct, self.seed)
        full = clock.saturation(log)
        at_load = None
        shares = []
        load, capacity = self._load(), full.requests
        if capacity:
            if load is not None and load / capacity <= highest_load():
                own = self.rate is None
                at_load = (
                    clock.at_arrivals(log, load / capacity) if own else clock.at_rate(log, load, capacity)
                )
            found = (clock.at_rate(log, share * capacity, capacity) for share in SHARES)
            shares = [times for times in found if times is not None]
        gpus = None
        if load is not None and capacity:
            gpus = gpus_needed(load, capacity, planned_load(), self.target.roofline().tensor_parallel)
        return Outlook(name, full.rate, 0.0, 1.0, full, at_load, tuple(shares), gpus), full.cached

    def _intervals(
        self,
        forms: Mapping[str, tuple[Counts, Counts]],
        on: str,
        pool: int | None,
        ratio: float,
        closed: float,
        saved: float,
    ) -> tuple[Interval, Interval, Interval]:
        """Of the throughput ratio, of the prefill time saved, and of any time as a multiple of what is told.

        From the calibration's error; without one over plausible rates, and beyond them as far as a prediction
        is allowed to miss.
        """
        found = self.target.calibration
        if found is not None:
            error = max(found.error, _LEAST_ERROR)
            return _around(ratio, ratio, error), _saved(saved, saved, error), Interval(1 - error, 1 + error)
        told = self._time(self.target.cost(), *forms[self.baseline], pool)
        ratios, savings, factors = [ratio], [saved], [1.0]
        for cost in self.target.plausible():
            off, now = (self._time(cost, *forms[name], pool) for name in (self.baseline, on))
            ratios.append(_ratio(off, now) * ratio / closed)
            savings.append(1 - now.prefill_on / off.prefill_on)
            factors.append((off.prefill_on + off.decode) / (told.prefill_on + told.decode))
        return (
            _around(min(ratios), max(ratios), THROUGHPUT_GATE),
            _saved(min(savings), max(savings), THROUGHPUT_GATE),
            Interval(min(factors), max(factors)),
        )

    def _explain(self, outlooks: Mapping[str, Outlook], on: str) -> None:
        """Why fields are not told."""
        missing, target, load = self.missing, self.target, self._load()
        missing["cost"] = "prices of cards are not modelled; gpus tells how many it takes"
        no_load = "the log's arrivals tell no load: give --rate REQUESTS_PER_SECOND"
        if not target.on_roofline:
            missing["roofline"] = "what was measured is no model and card that are known by their shapes"
        if target.model_name is None:
            missing["model"] = f"its shape is not known: give --model NAME; {STAND_IN_MODEL} stands in"
        if load is None:
            missing["load_requests_per_second"] = no_load
        if not target.simulated:
            reason = "no card is named: give --gpu NAME (and --model NAME if it is not the log's)"
            missing |= dict.fromkeys(("gpu", "ttft_ms", "gpus", "host"), reason)
        elif target.gpu is None:
            missing["gpu"] = "no card is named; seconds are those of the calibration"
            missing["host"] = "no card is named, so that the link to the host is not known"
        if target.pool_tokens is None and target.gpu is None:
            missing["pool_tokens"] = "no card is named: the pool counts as unlimited"
        if target.simulated and load is None:
            missing["ttft_ms"] = missing["gpus"] = no_load
        if not target.simulated or load is None:
            return
        untold = {}
        for side, name in (("off", self.baseline), ("on", on)):
            full = outlooks[name].saturation
            if full is None or not full.requests:
                untold[side] = f"no request fits the pool of {name}"
                missing[f"gpus.{side}"] = untold[side]
            elif load / full.requests > highest_load():
                untold[side] = (
                    f"{load:.4g} requests per second are {load / full.requests:.2f} of what {name} can serve "
                    f"on one replica: above {highest_load():g} waiting depends on the burst; see gpus"
                )
        if {"gpus.off", "gpus.on"} <= missing.keys():
            missing["gpus"] = "; ".join(dict.fromkeys((missing.pop("gpus.off"), missing.pop("gpus.on"))))
        if len(untold) == 2:
            missing["ttft_ms"] = "; ".join(dict.fromkeys(untold.values()))
        else:
            missing |= {f"ttft_ms.{part}.{side}": why for side, why in untold.items() for part in QUANTILES}


def _engine(name: str) -> EngineProfile:
    return engine(name).with_policy("lpm") if name == RADIX_ENGINE else engine(name)


def _ratio(slow: GpuTime, fast: GpuTime) -> float:
    """Throughput at saturation of one over the other, by closed form."""
    return (slow.prefill_on + slow.decode) / (fast.prefill_on + fast.decode)


def _around(low: float, high: float, error: float) -> Interval:
    return Interval(low * (1 - error), high * (1 + error))


def _saved(low: float, high: float, error: float) -> Interval:
    """Of a share that is removed, where what is left may be off by ``error``."""
    return Interval(1 - (1 - low) * (1 + error), 1 - (1 - high) * (1 - error))


def _completed(outlook: Outlook | None, name: str, lengths: Counts, cached: Counts, time: GpuTime) -> Outlook:
    if outlook is None:
        outlook = Outlook(name, float(cached.sum() / lengths.sum()), 0.0, 1.0)
    return replace(outlook, time_saved=time.time_saved, gain=time.gain)


def _measured(target: Target) -> str | None:
    found = target.calibration
    if found is None:
        return None
    return f"{found.model or 'a model'} on {found.device or 'a device'}"
