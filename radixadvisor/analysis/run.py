"""The order of the rooms: read, tokenize, measure, account, describe."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from radixadvisor.analysis.advice import advise, no_advice
from radixadvisor.analysis.applications import applications_of, named_findings, rows_of
from radixadvisor.analysis.breakdown import breakdown
from radixadvisor.analysis.capacity import bounds_of, capacity_of
from radixadvisor.analysis.decide import verdict_of
from radixadvisor.analysis.describe import (
    assumptions_of,
    branches_of,
    input_of,
    target_model,
    tokenizers_of,
    untimed,
)
from radixadvisor.analysis.forecast import forecast, told_by
from radixadvisor.analysis.measure import measure
from radixadvisor.analysis.noise import FEWEST, noise_of
from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.analysis.reported import doubts, reported_by
from radixadvisor.analysis.serving import replica_range, with_serving
from radixadvisor.analysis.settings import settings_of
from radixadvisor.ingest import Log, no_usable_input, read_log
from radixadvisor.results import Analysis, HitCount, HitRates, Hits, LedgerRow, Totals
from radixadvisor.trace import Trace, build_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


def open_trace(paths: Sequence[str], options: AnalyzeOptions) -> tuple[Trace, Log]:
    """Read and tokenize a log.

    Raises:
        NoUsableInput: no request is left.
        UsageError: a file or an option cannot work.
    """
    log = read_log(paths, options.format, options.limit)
    with _without_gc():
        trace = build_trace(log, options.tokens(), options.selection(), options.progress)
    if not trace.requests:
        raise no_usable_input(log)
    return trace, log


def analyze(paths: Sequence[str], options: AnalyzeOptions | None = None) -> Analysis:
    """Measure a log: what it repeats, what caches would serve, where every token goes.

    Raises:
        NoUsableInput: no request could be evaluated.
        UsageError: a file or an option cannot work.
    """
    options = options or AnalyzeOptions()
    with _without_gc():
        trace, log = open_trace(paths, options)
        analysis = analyze_trace(trace, log, options)
        # Freed here, the trace is not walked once more when collection goes on.
        del trace, log
    return analysis


@contextmanager
def _without_gc() -> Iterator[None]:
    """Millions of records that all stay alive and hold no cycles: walking them is a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def analyze_trace(trace: Trace, log: Log, options: AnalyzeOptions) -> Analysis:
    """Measure a trace that is already tokenized."""
    advice = advise(trace) if options.advice else no_advice("left out by --no-advice")
    found = measure(trace, advice.order_gain, options.setting())
    if options.advice:
        advice = with_serving(trace, found, advice, options.setting())
    total = int(found.lengths.sum())
    missing = found.missing | advice.missing
    target = target_model(trace, options, missing)
    kv_bytes = None if target is None else target.kv_bytes(options.kv_dtype)
    if not trace.named_sessions:
        missing["hits.within_session"] = "the log names no sessions"
    if not trace.timed:
        missing["input.span_seconds"] = untimed(trace)
    headline = found.profiles[found.headline]
    rows, left_out = capacity_of(trace, found, kv_bytes)
    missing |= left_out
    prediction, unknown = forecast(trace, found, advice, options, target)
    missing |= unknown
    settings = None
    if options.advice:
        settings = settings_of(trace, found, advice, rows, prediction, options.setting())
        if settings is None:
            missing["settings"] = "the log is not one of an engine that its users set up"
    else:
        missing["settings"] = "left out by --no-advice"
    reported = reported_by(trace, found)
    applications = applications_of(trace)
    noise = noise_of(trace, found)
    if noise is None:
        missing["noise"] = f"fewer than {FEWEST} sessions"
    return Analysis(
        input=input_of(trace, log),
        tokenizers=tokenizers_of(trace),
        totals=Totals(total, sum(trace.output_lengths), total - int(found.unlimited.sum())),
        hits=Hits(
            unlimited=_hits(found.unlimited, total),
            profiles={name: _hits(column, total) for name, column in found.profiles.items()},
            headline=found.headline,
            rates=_rates(headline, found.lengths),
            profile_rates={
                name: _rates(column, found.lengths)
                for name, column in {"unlimited": found.unlimited, **found.profiles}.items()
            },
            across_sessions=_hits(found.other_session, total),
            within_session=_hits(found.same_session, total) if trace.named_sessions else None,
        ),
        branches=branches_of(trace, found.walks, kv_bytes),
        bounds=bounds_of(trace, found, advice.order, options.setting(), missing),
        capacity=rows,
        ledger=tuple(LedgerRow(row.name, row.tokens, row.share) for row in found.ledger.buckets),
        kv_bytes_per_token=kv_bytes,
        model=None if target is None else target.name,
        assumptions=(
            *assumptions_of(trace, log, found),
            *doubts(reported, found.headline),
            *told_by(prediction),
        ),
        not_evaluated=missing,
        reported_cached_tokens=None if reported is None else reported.cached,
        predicted_cached_tokens=int(headline.sum()) if reported is None else reported.predicted,
        calibration_error=None if reported is None else reported.error,
        findings=named_findings(trace, applications, advice.findings),
        prescriptions=advice.prescriptions,
        checked=advice.checked,
        prediction=prediction,
        verdict=verdict_of(prediction, found, reported),
        replica_range=replica_range(trace, found, options.setting()) if options.advice else (),
        by=None if options.by is None else breakdown(trace, found, options.by),
        applications=rows_of(trace, applications, headline),
        noise=noise,
        order=advice.order,
        settings=settings,
    )


def _hits(tokens: Counts, total: int) -> HitCount:
    count = int(tokens.sum())
    return HitCount(count, count / total if total else 0.0)


def _rates(tokens: Counts, lengths: Counts) -> HitRates:
    import numpy as np

    total = int(lengths.sum())
    return HitRates(
        token_weighted=int(tokens.sum()) / total if total else 0.0,
        mean_per_request=float(np.mean(tokens / np.maximum(lengths, 1))),
        share_of_requests_hit=float(np.mean(tokens > 0)),
    )
