"""The prediction in the skill report."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.report.escape import code, prose
from radixadvisor.report.prediction import PredictionView

__all__ = ["prediction_section"]


def prediction_section(found: PredictionView | None) -> Iterator[str]:
    """Lines of the section; none without a prediction."""
    if found is None:
        return
    yield "## What it is worth"
    yield ""
    yield prose(found.summary)
    yield ""
    yield f"For {code(found.title)}:"
    yield ""
    columns = ["Engine", "Hit rate", "Prefill time saved"]
    columns += (
        [
            "Requests/s at saturation",
            "TTFT p50 / p95, ms",
            "GPUs",
            f"TTFT p50 at {', '.join(found.shares)}, ms",
        ]
        if found.timed
        else ["Throughput"]
    )
    yield "| " + " | ".join(columns) + " |"
    yield "| --- |" + " ---: |" * (len(columns) - 1)
    for row in found.rows:
        cells = [row.name, row.rate, row.saved, row.throughput]
        if found.timed:
            cells += [row.ttft or "-", row.gpus, ", ".join(row.shares) or "-"]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    for line in found.lines:
        yield f"- {prose(line)}"
    yield ""
    yield "Published figures beside this workload's:"
    yield ""
    yield "| Figure | Published | Here | What it is |"
    yield "| --- | ---: | ---: | --- |"
    for name, theirs, ours, text in found.figures:
        yield f"| {prose(name)} | {theirs} | {ours} | {prose(text)} |"
    yield ""
