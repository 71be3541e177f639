"""A study: one log simulated under several settings, as JSON and as a table per request."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radixadvisor.errors import UsageError
from radixadvisor.paths import replacing
from radixadvisor.results import LedgerRow
from radixadvisor.simulate.compare import Comparison
from radixadvisor.simulate.result import SimulationResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SCHEMA", "Run", "Study", "quantiles", "require_exportable", "to_dict", "to_json", "write_export"]

SCHEMA = "radixadvisor/simulate/1"
_QUANTILES = (0.5, 0.95, 0.99)
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Run:
    """One setting and what it gave.

    ``cache`` is the kind of the engine's cache. ``columns``: tokens per request of each ledger bucket, in
    input order, None where the bucket was not evaluated.
    """

    engine: str
    cache: str
    policy: str
    result: SimulationResult
    ledger: tuple[LedgerRow, ...]
    columns: Mapping[str, NDArray[np.int64] | None]


@dataclass(frozen=True, slots=True)
class Study:
    """All runs on one log.

    ``options`` are the settings that every run shares; ``ids`` and ``arrivals`` are those of the requests, in
    input order. ``comparisons`` set each further run against the first; ``eviction`` leads from a tree's
    eviction to that of blocks, (what holds, tokens served), where both were simulated.
    """

    files: tuple[str, ...]
    dialect: str
    skipped: int
    ids: Sequence[str]
    arrivals: Sequence[float | None]
    prompt_tokens: int
    options: Mapping[str, Any]
    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...]
    eviction: tuple[tuple[str, int], ...]
    not_evaluated: Mapping[str, str]


def to_json(study: Study) -> bytes:
    """The bytes of simulate.json: ASCII, keys in a fixed order, a newline at the end."""
    return (json.dumps(to_dict(study), indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode()


def to_dict(study: Study) -> dict[str, Any]:
    """The study as plain data. Seconds and rates carry six decimals, ledger shares twelve."""
    from radixadvisor import __version__

    return {
        "schema": SCHEMA,
        "version": __version__,
        "files": list(study.files),
        "dialect": study.dialect,
        "requests": len(study.ids),
        "skipped": study.skipped,
        "prompt_tokens": study.prompt_tokens,
        "options": dict(study.options),
        "runs": [_run(run) for run in study.runs],
        "comparisons": [_comparison(comparison) for comparison in study.comparisons],
        "eviction": [{"what": what, "served_tokens": tokens} for what, tokens in study.eviction],
        "not_evaluated": dict(study.not_evaluated),
    }


def quantiles(values: NDArray[np.float64]) -> dict[str, float | None]:
    """Mean and quantiles over requests that were served; None if none was."""
    import numpy as np

    served = values[~np.isnan(values)]
    if not len(served):
        return {"mean": None, **{f"p{round(q * 100)}": None for q in _QUANTILES}}
    found = {f"p{round(q * 100)}": float(np.quantile(served, q)) for q in _QUANTILES}
    return {name: round(value, _DECIMALS) for name, value in {"mean": float(served.mean()), **found}.items()}


def _run(run: Run) -> dict[str, Any]:
    result, totals = run.result, run.result.totals
    reasons: dict[str, int] = {}
    for reason in result.reasons.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return {
        "label": result.label,
        "engine": run.engine,
        "policy": run.policy,
        "served_tokens": result.served_tokens,
        "rate": round(result.rate, _DECIMALS),
        "host_tokens": int(result.host_tokens.sum()),
        "computed_tokens": int(result.computed_tokens.sum()),
        "written_tokens": None if result.written_tokens is None else int(result.written_tokens.sum()),
        "recomputed_tokens": int(result.recomputed_tokens.sum()),
        "evicted_tokens": totals.evicted_tokens,
        "pinned_tokens": totals.pinned_tokens,
        "refused": {"count": int(result.refused.sum()), "reasons": reasons},
        "truncated": int(result.truncated.sum()),
        "retractions": int(result.retractions.sum()),
        "ledger": [
            {
                "bucket": row.bucket,
                "tokens": row.tokens,
                "share": None if row.share is None else round(row.share, 12),
            }
            for row in run.ledger
        ],
        "seconds": {
            "prefill": round(totals.prefill_seconds, _DECIMALS),
            "decode": round(totals.decode_seconds, _DECIMALS),
            "mixed": round(totals.mixed_seconds, _DECIMALS),
            "makespan": round(totals.makespan, _DECIMALS),
        },
        "ttft": quantiles(result.ttft),
        "e2e": quantiles(result.e2e),
        "queue": quantiles(result.queue),
        "occupancy": [
            {
                "capacity": pool.capacity,
                "peak_in_use": pool.peak_in_use,
                "mean_in_use": round(pool.mean_in_use, _DECIMALS),
                "cached_at_end": pool.cached_at_end,
            }
            for pool in result.occupancy
        ],
        "notes": list(result.notes),
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "a": comparison.a,
        "b": comparison.b,
        "rows": [
            {"what": row.what, "unit": row.unit, "a": round(row.a, _DECIMALS), "b": round(row.b, _DECIMALS)}
            for row in comparison.rows
        ],
        "reasons": list(comparison.reasons),
    }


def require_exportable(path: Path, runs: int) -> None:
    """Say at once what ``write_export`` could not do.

    Raises:
        UsageError: there are several runs, or the file has another ending.
    """
    if runs != 1:
        raise UsageError(f"--export takes one run, this study has {runs}: give one policy and one engine.")
    if path.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--export writes *.csv or *.parquet, not {path.name}.")


def write_export(study: Study, path: Path) -> Path:
    """Write one row per request of the last run, in input order, refused ones included.

    The file is CSV or Parquet by its ending. What a refused request does not have is empty (null), and so is
    a bucket that was not evaluated.

    Raises:
        OutputError: the file cannot be written.
    """
    columns = _columns(study, study.runs[-1])
    with replacing(path, private=False) as temporary:
        if path.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table(columns), temporary, compression="zstd")
        else:
            with temporary.open("w", encoding="utf-8", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(zip(*columns.values(), strict=True))
    return path


def _columns(study: Study, run: Run) -> dict[str, list[Any]]:
    result = run.result
    columns: dict[str, list[Any]] = {
        "request_id": [name.encode("utf-8", "backslashreplace").decode() for name in study.ids],
        "arrival": list(study.arrivals),
        "prompt_len": result.prompt_tokens.tolist(),
        "matched_tokens": result.matched_tokens.tolist(),
        "host_tokens": result.host_tokens.tolist(),
        "computed_tokens": result.computed_tokens.tolist(),
        "replica": result.replica.tolist(),
        "ttft": list(_known(result.ttft)),
        "e2e": list(_known(result.e2e)),
    }
    for name, tokens in run.columns.items():
        columns[name] = [None] * len(study.ids) if tokens is None else tokens.tolist()
    return columns


def _known(values: NDArray[np.float64]) -> Iterator[float | None]:
    return (None if math.isnan(value) else round(value, 9) for value in values.tolist())
