"""``radixadvisor calibrate``: from measured forward passes to the seconds that predictions use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Quiet

__all__ = ["calibrate"]


def calibrate(
    points: Annotated[
        Path,
        typer.Argument(
            metavar="POINTS",
            help="Measured passes: CSV or JSON rows of n, c, seconds (prefill) and b, ctx, seconds (decode), "
            "or a replay.json that holds them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The calibration, for analyze --calibration FILE."),
    ] = Path("calibration.json"),
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What was measured.", show_default="as the points say"),
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(metavar="NAME", help="On what.", show_default="as the points say")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> int:
    """Fit the seconds of a forward pass to measured ones; a third of them is held out to test the fit.

    Ends with 1 if the held-out passes are missed by more than a prediction may.
    """
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.predict.calibrate import calibrate as fit
    from radixadvisor.predict.points import read_points
    from radixadvisor.report.calibration import line, render
    from radixadvisor.report.write import require_other, write_file

    require_other(out, [points])
    found = fit(read_points(points), model, gpu)
    written = write_file(out, found.to_json(), private=False)
    if not quiet:
        note(f"Wrote {written}.")
    if json:
        emit(found.to_json().decode())
    elif quiet:
        emit(line(found) + "\n")
    else:
        emit(render(found, screen(no_color=no_color)))
    return 1 if found.failures else 0
