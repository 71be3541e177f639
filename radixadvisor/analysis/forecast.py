"""The prediction of an analysis: the log's columns and the user's target, handed to ``predict``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from radixadvisor.analysis.advice import Advice
from radixadvisor.analysis.columns import requests_of
from radixadvisor.analysis.measure import Measured
from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.catalog import Model, find_model, gpu
from radixadvisor.predict.calibrate import read_calibration
from radixadvisor.predict.outlook import BASELINES, RADIX_ENGINE, predict
from radixadvisor.predict.rates import default_rates
from radixadvisor.predict.results import Prediction
from radixadvisor.predict.target import STAND_IN_GPU, STAND_IN_MODEL, Target
from radixadvisor.predict.workload import Form, Workload
from radixadvisor.prescribe.variant import Variant
from radixadvisor.results import Assumption
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["forecast", "rewritten_requests", "target_of", "told_by"]

_GOLDEN = 0.618033988749895
"""Multiples of it fill the unit interval evenly, whatever their number."""


def target_of(options: AnalyzeOptions, model: Model | None) -> Target:
    """What the user named, with the model's shape if it is known.

    Raises:
        UsageError: a card or a calibration cannot be used.
    """
    named = {"mfu": options.mfu, "mbu": options.mbu, "step_overhead": options.step_overhead}
    given = {name: value for name, value in named.items() if value is not None}
    measured = None if options.calibration is None else read_calibration(Path(options.calibration))
    if measured is not None and measured.model is not None and options.model is None:
        # What was measured is what is predicted for, whatever model the log names.
        model = find_model(measured.model)
    return Target(
        model=model,
        gpu=None if options.gpu is None else gpu(options.gpu),
        cards=options.tensor_parallel,
        weights=options.weights,
        kv=options.kv_dtype.lower(),
        pool_tokens=options.capacity,
        rates=replace(default_rates(), **given) if given else None,
        calibration=measured,
    )


def forecast(
    trace: Trace, found: Measured, advice: Advice, options: AnalyzeOptions, model: Model | None
) -> tuple[Prediction | None, dict[str, str]]:
    """The prediction, and why it or a field of it is missing, by dotted name.

    Raises:
        UsageError: the target cannot be: an unknown card, a model that does not fit.
    """
    target = target_of(options, model)
    if target.objection is not None:
        return None, {"prediction": target.objection}
    if not found.lengths.sum():
        return None, {"prediction": "the log's prompts are empty"}
    prediction = predict(
        _workload(trace, found, advice, timed=target.simulated),
        target,
        baseline=options.baseline,
        rate=options.rate,
    )
    return prediction, {f"prediction.{name}": reason for name, reason in prediction.missing.items()}


def told_by(prediction: Prediction | None) -> Iterator[Assumption]:
    """What the prediction takes for granted."""
    if prediction is None:
        return
    stood_in = [
        what
        for what, name in (
            (f"{STAND_IN_MODEL} for a model whose shape is not known", prediction.model),
            (f"{STAND_IN_GPU} for the card that is not named", prediction.gpu),
        )
        if name is None and prediction.calibration is None
    ]
    told = [f"{' and '.join(stood_in)}"] if stood_in else []
    if prediction.calibration is None:
        told.append("assumed shares of a card's peaks and overhead per pass (rules/cost.toml)")
    if told:
        yield Assumption(
            f"The prediction stands on {', and on '.join(told)}.",
            "its interval is wide; radixadvisor calibrate narrows it",
        )
    if prediction.gpu is not None or prediction.calibration is not None:
        yield Assumption(
            f"Times are simulated on the first {prediction.requests} requests; a short log is repeated, "
            "each time with a cache of its own that begins empty.",
            "hits at saturation are somewhat below those of a log that runs on",
        )


def _workload(trace: Trace, found: Measured, advice: Advice, *, timed: bool) -> Workload:
    import numpy as np

    sizes = _output_lengths(trace)
    outputs = np.array([sizes[index] for index in trace.order], np.int64)
    arrivals = trace.arrivals()
    requests = replace(requests_of(trace), output_lengths=sizes) if timed else None
    cached = {name: found.profiles[name] for name in (*BASELINES, RADIX_ENGINE)}
    fixed = None
    if advice.trial is not None and advice.trial.applied:
        after, block = advice.trial.after, engine("vllm").page
        fixed = Form(
            after.lengths,
            {RADIX_ENGINE: after.served, "vllm": after.served // block * block},
            None if requests is None else rewritten_requests(trace, requests, after),
        )
    return Workload(
        given=Form(found.lengths, cached, requests),
        outputs=outputs,
        span=None if arrivals is None else arrivals[-1] - arrivals[0],
        fixed=fixed,
    )


def _output_lengths(trace: Trace) -> list[int]:
    """Output tokens per request. Assumed ones, which are all equal, vary from half to one and a half times
    their value: equal ones would end all together, which no traffic does.
    """
    if not trace.output_sources["assumed length"]:
        return trace.output_lengths
    sizes = []
    for index, size in enumerate(trace.output_lengths):
        assumed = size == trace.assumed_output and not trace.outputs[index]
        sizes.append(round(size * (0.5 + index * _GOLDEN % 1.0)) if assumed else size)
    return sizes


class _Rewritten(Sequence[bytes]):
    """Packed prompts of a variant of the log, in input order."""

    def __init__(self, trace: Trace, after: Variant) -> None:
        self._trace = trace
        self._segments = after.segments

    def __len__(self) -> int:
        return len(self._trace.requests)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        trace = self._trace
        segments = self._segments.get(index) or trace.segments[index]
        return trace.pools[trace.pool_of[index]].prompt(segments)


def rewritten_requests(trace: Trace, requests: Requests, after: Variant) -> Requests:
    """The columns of a log with the prompts of a variant of it."""
    lengths = list(trace.lengths)
    for position, index in enumerate(trace.order):
        lengths[index] = int(after.lengths[position])
    return replace(requests, prompts=_Rewritten(trace, after), lengths=lengths)
