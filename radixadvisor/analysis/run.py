"""The order of the rooms: read, tokenize, measure, account, describe."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from radixadvisor.analysis.describe import (
    assumptions_of,
    branches_of,
    input_of,
    reported_cached,
    target_model,
    tokenizers_of,
    untimed,
)
from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.ingest import Log, no_usable_input, read_log
from radixadvisor.measure.hits import reusable, reusable_partial, served, unlimited
from radixadvisor.results import Analysis, Bounds, HitCount, HitRates, Hits, Totals
from radixadvisor.simulate.profiles import BLOCKS, NONE, EngineProfile, engine
from radixadvisor.trace import Trace, build_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

HEADLINE = "sglang"


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
    trace, log = open_trace(paths, options)
    with _without_gc():
        return analyze_trace(trace, log, options)


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
    import numpy as np

    lengths = np.array([trace.lengths[index] for index in trace.order], np.int64)
    total = int(lengths.sum())
    found = unlimited(
        trace.prompts(),
        [trace.sessions[index] for index in trace.order],
        [str(trace.pool_of[index]) for index in trace.order],
        unit=trace.unit,
        lengths=lengths.tolist() if trace.unit > 1 else None,
    )
    matched = _tokens(found.matched, lengths, trace.unit)
    profiles = _profiles(trace, lengths)
    missing: dict[str, str] = {}
    target = target_model(trace, options, missing)
    kv_bytes = None if target is None else target.kv_bytes(options.kv_dtype)
    same = _count(found.same_session, lengths, trace.unit) if trace.named_sessions else None
    if same is None:
        missing["hits.within_session"] = "the log names no sessions"
    if not trace.timed:
        missing["input.span_seconds"] = untimed(trace)
    return Analysis(
        input=input_of(trace, log),
        tokenizers=tokenizers_of(trace),
        totals=Totals(total, sum(trace.output_lengths), total - int(matched.sum())),
        hits=Hits(
            unlimited=_hits(matched, total),
            profiles={name: _hits(column, total) for name, column in profiles.items()},
            headline=HEADLINE,
            rates=_rates(profiles[HEADLINE], lengths),
            profile_rates={name: _rates(column, lengths) for name, column in profiles.items()},
            across_sessions=_count(found.other_session, lengths, trace.unit),
            within_session=same,
        ),
        branches=branches_of(trace, found, kv_bytes),
        bounds=Bounds(int(profiles[HEADLINE].sum()), None, None, None, None),
        capacity=(),
        ledger=(),
        kv_bytes_per_token=kv_bytes,
        model=None if target is None else target.name,
        assumptions=assumptions_of(trace, log),
        not_evaluated=missing,
        reported_cached_tokens=reported_cached(trace),
        predicted_cached_tokens=int(profiles[HEADLINE].sum()),
    )


def _profiles(trace: Trace, lengths: Counts) -> dict[str, Counts]:
    """Tokens served per request by each engine with an unlimited pool, one request after the other."""
    import numpy as np

    namespaces = [trace.namespace(index) for index in trace.order]
    reuse = _tokens(reusable(trace.cached_sequences(), namespaces), lengths, trace.unit)
    sglang = engine("sglang")
    wanted: dict[str, EngineProfile] = {
        "sglang": sglang,
        "sglang-page16": sglang.with_page(16),
        "sglang-page64": sglang.with_page(64),
        "vllm": engine("vllm"),
        "trtllm": engine("trtllm"),
        "none": engine("none"),
    }
    columns = {}
    for name, profile in wanted.items():
        page = max(profile.page, trace.unit)
        if profile.cache == NONE:
            columns[name] = np.zeros(len(lengths), np.int64)
        elif profile.cache == BLOCKS and profile.partial_reuse and trace.unit == 1:
            partial = reusable_partial(trace.cached_sequences(), namespaces, page)
            columns[name] = served(partial, lengths, 1)
        else:
            columns[name] = served(reuse, lengths, page)
    return columns


def _tokens(positions: Counts, lengths: Counts, unit: int) -> Counts:
    """Positions as tokens; the last one of a prompt may be short."""
    import numpy as np

    return np.minimum(positions * unit, lengths) if unit > 1 else positions


def _hits(tokens: Counts, total: int) -> HitCount:
    count = int(tokens.sum())
    return HitCount(count, count / total if total else 0.0)


def _count(positions: Counts, lengths: Counts, unit: int) -> HitCount:
    return _hits(_tokens(positions, lengths, unit), int(lengths.sum()))


def _rates(tokens: Counts, lengths: Counts) -> HitRates:
    import numpy as np

    total = int(lengths.sum())
    return HitRates(
        token_weighted=int(tokens.sum()) / total if total else 0.0,
        mean_per_request=float(np.mean(tokens / np.maximum(lengths, 1))),
        share_of_requests_hit=float(np.mean(tokens > 0)),
    )
