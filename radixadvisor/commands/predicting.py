"""Options that name what a prediction is for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Baseline",
    "CalibrationFile",
    "Gpu",
    "Mbu",
    "Mfu",
    "Rate",
    "StepMs",
    "TensorParallel",
    "WeightDtype",
]

_PANEL = "Prediction"

Gpu = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Card to predict times, cards and throughput for; 'radixadvisor gpus' lists them.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
TensorParallel = Annotated[
    int | None,
    typer.Option(
        "--tp", min=1, metavar="N", help="Cards that share a model.", show_default="1", rich_help_panel=_PANEL
    ),
]
WeightDtype = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Precision of the weights: bf16, fp8, int8, int4 or mxfp4.",
        show_default="as published",
        rich_help_panel=_PANEL,
    ),
]
Baseline = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="What a radix cache is compared with: none or vllm.", rich_help_panel=_PANEL
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Requests per second that arrive at random times.",
        show_default="the log's arrivals",
        rich_help_panel=_PANEL,
    ),
]
CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Measured seconds instead of assumed ones, from 'radixadvisor calibrate'.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Mfu = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the card's dense peak that prefill reaches.",
        show_default="0.5",
        rich_help_panel=_PANEL,
    ),
]
Mbu = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the card's memory bandwidth that decode reaches.",
        show_default="0.8",
        rich_help_panel=_PANEL,
    ),
]
StepMs = Annotated[
    float | None,
    typer.Option(
        metavar="MS",
        help="Milliseconds that a forward pass costs beside its arithmetic; never 0.",
        show_default="2",
        rich_help_panel=_PANEL,
    ),
]
