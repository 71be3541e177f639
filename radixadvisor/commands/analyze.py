"""``radixadvisor analyze``: measure what a log repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, Logs, NoColor, Out, Quiet, Tokenizer
from radixadvisor.commands.predicting import (
    Baseline,
    CalibrationFile,
    Gpu,
    Mbu,
    Mfu,
    Rate,
    StepMs,
    TensorParallel,
    WeightDtype,
)
from radixadvisor.records import LONGEST_OUTPUT

__all__ = ["analyze"]


def analyze(
    logs: Logs,
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="Model that GiB, MiB and predictions are for: a name, or a folder with its config.json.",
            show_default="the log's",
        ),
    ] = None,
    kv_dtype: Annotated[str, typer.Option(metavar="NAME", help="Precision of that KV cache.")] = "bf16",
    output_tokens: Annotated[
        int,
        typer.Option(min=0, max=LONGEST_OUTPUT, help="Length of outputs for which the log has no length."),
    ] = 256,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only requests with this app, model, replica, session, tenant or user; repeatable.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only requests that arrived at this time or later.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N requests.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Break the losses down by app, tenant, model or session.",
            show_default=False,
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="The KV pool of each replica.", show_default="never full"),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="So many clients at once instead of the log's arrivals.",
            show_default=False,
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Replicas that take turns, where the log does not name them.",
            show_default=False,
        ),
    ] = None,
    gpu: Gpu = None,
    tp: TensorParallel = None,
    weight_dtype: WeightDtype = None,
    baseline: Baseline = "none",
    rate: Rate = None,
    calibration: CalibrationFile = None,
    mfu: Mfu = None,
    mbu: Mbu = None,
    step_ms: StepMs = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="Measure only: no findings, no fixes tried.")
    ] = False,
    skill_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write the skill report as DIR/radix-scheduler-advisor/SKILL.md, as agents load it.",
            show_default=False,
        ),
    ] = None,
    example: Annotated[
        bool,
        typer.Option(
            "--example", help="Mark the skill report as a repository's example: ordinary runs then keep it."
        ),
    ] = False,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Measure how much of a log's prompts a prefix cache could serve, and where the rest goes."""
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.analysis import analyze as run
    from radixadvisor.commands.output import emit, note, progress, screen
    from radixadvisor.report.write import DEFAULT_OUT, require_writable, write_reports

    for folder in (out or DEFAULT_OUT, *([] if skill_dir is None else [skill_dir])):
        require_writable(folder)
    with progress(quiet=quiet, no_color=no_color) as report_progress:
        analysis = run(
            logs,
            AnalyzeOptions(
                format=format,
                tokenizer=tokenizer,
                chat_template=chat_template,
                model=model,
                kv_dtype=kv_dtype,
                output_tokens=output_tokens,
                where=tuple(where or ()),
                since=since,
                limit=limit,
                by=by,
                advice=not no_advice,
                capacity=capacity,
                concurrency=concurrency,
                replicas=replicas,
                gpu=gpu,
                tensor_parallel=tp,
                weights=weight_dtype,
                baseline=baseline.lower(),
                rate=rate,
                calibration=None if calibration is None else str(calibration),
                mfu=mfu,
                mbu=mbu,
                step_overhead=None if step_ms is None else step_ms / 1000,
                progress=report_progress,
            ),
        )
    written = write_reports(analysis, out, skills=skill_dir, example=example)
    if not quiet:
        note("Wrote " + " and ".join(map(str, written.paths)) + ".")
        if written.kept is not None:
            note(f"Kept {written.kept}, which is marked as an example: --out DIR writes this log's own.")
    if json:
        from radixadvisor.report.json import to_json

        emit(to_json(analysis).decode())
    elif quiet:
        from radixadvisor.report.view import quiet_line

        emit(quiet_line(analysis) + "\n")
    else:
        from radixadvisor.report.terminal import render

        emit(render(analysis, screen(no_color=no_color)))
