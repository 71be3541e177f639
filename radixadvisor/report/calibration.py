"""A calibration for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.predict.calibrate import THROUGHPUT_GATE, TTFT_GATE, Calibration
from radixadvisor.report.layout import Screen, grid

__all__ = ["line", "render"]

_TERMS = {
    "prefill": ("pass", "new token", "query-key pair", "token of KV"),
    "decode": ("pass", "sequence", "token of context"),
}


def line(found: Calibration) -> str:
    """The whole result in one line."""
    state = "unusable: " + "; ".join(found.failures) if found.failures else "usable"
    return (
        f"{state}, held-out passes in sum: prefill {found.prefill.sum_error:+.1%}, "
        f"decode {found.decode.sum_error:+.1%}"
    )


def render(found: Calibration, screen: Screen) -> str:
    """Coefficients, and how well they do on passes they have not seen."""
    return screen.text(_blocks(found, screen))


def _blocks(found: Calibration, screen: Screen) -> Iterator[RenderableType]:
    what = f"{found.model or 'a model that is not named'} on {found.device or 'a device that is not named'}"
    yield Text(screen.safe(f"Measured: {what}."), style="bold")
    table = grid("phase", "*seconds per", ">seconds", ">passes", ">held out", ">in sum", ">median")
    for phase, fit in (("prefill", found.prefill), ("decode", found.decode)):
        for number, (term, value) in enumerate(zip(_TERMS[phase], fit.coefficients, strict=True)):
            errors = (f"{fit.points}", f"{fit.held_out}", f"{fit.sum_error:+.1%}", f"{fit.median_error:.1%}")
            table.add_row("" if number else phase, term, f"{value:.3g}", *(("",) * 4 if number else errors))
    yield table
    yield Text(
        f"in sum: predicted against measured seconds of the held-out passes, gate {THROUGHPUT_GATE:.0%}; "
        f"median: error of one of them, gate {TTFT_GATE:.0%}.",
        style="dim",
    )
    if found.failures:
        yield Text("Not usable", style="bold red")
        failures = screen.bullets(found.failures)
        if failures is not None:
            yield failures
    else:
        yield Text("Usable: radixadvisor analyze LOG --calibration FILE.", style="green")
