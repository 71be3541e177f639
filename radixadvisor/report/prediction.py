"""What a prediction says, as plain data and as the rows and sentences that all reports show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from radixadvisor.predict.clock import Quantiles, Times
from radixadvisor.predict.outlook import FIXED, FIXED_BLOCKS, QUANTILES
from radixadvisor.predict.results import Interval, Outlook, Point, Prediction, Reference
from radixadvisor.report.numbers import percent

__all__ = ["OutlookRow", "PredictionView", "milliseconds", "prediction_row", "prediction_view"]

_NAMES = {
    "none": "no cache",
    "vllm": "vllm (blocks, fcfs)",
    "sglang": "sglang (radix, lpm)",
    FIXED_BLOCKS: "vllm, changed",
    FIXED: "sglang, changed",
}
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class OutlookRow:
    """One engine, figures in words; ``ttft`` is empty where it is not told."""

    name: str
    rate: str
    saved: str
    throughput: str
    ttft: str
    gpus: str
    shares: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredictionView:
    """What to show. ``shares`` are the loads of each row's last figures; ``lines`` stand below the table;
    ``figures`` are published ones: name, theirs, ours, what it is.
    """

    title: str
    summary: str
    rows: tuple[OutlookRow, ...]
    timed: bool
    shares: tuple[str, ...]
    lines: tuple[str, ...]
    figures: tuple[tuple[str, str, str, str], ...]


def prediction_view(found: Prediction | None) -> PredictionView | None:
    """Arrange a prediction; None if there is none."""
    if found is None:
        return None
    timed = any(outlook.at_shares for outlook in found.outlooks.values())
    rows = tuple(_row(name, outlook) for name, outlook in found.outlooks.items())
    shares = next((outlook.at_shares for outlook in found.outlooks.values() if outlook.at_shares), ())
    return PredictionView(
        title=_title(found),
        summary=_summary(found),
        rows=rows,
        timed=timed,
        shares=tuple(f"{times.load:.0%}" for times in shares),
        lines=tuple(_lines(found)),
        figures=tuple(_figure(reference) for reference in found.references),
    )


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds, three figures where there are any."""
    if seconds is None:
        return "-"
    value = seconds * 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _title(found: Prediction) -> str:
    if found.calibration is not None:
        return f"measured seconds of {found.calibration}"
    model, card = found.stand_in
    cards = f"{found.cards} x {card}" if found.cards > 1 else card
    words = f"{model} ({found.weights}) on {cards}"
    return words if found.gpu and found.model else f"{words}, which stands in"


def _summary(found: Prediction) -> str:
    against = "no cache" if found.baseline == "none" else found.baseline
    saved, ratio = found.saved_interval, found.interval
    return (
        f"Against {against}, {found.on} saves {percent(found.time_saved)} of the prefill time "
        f"({percent(saved.low)} to {percent(saved.high)}) and serves {found.ratio:.2f} times the requests at "
        f"saturation ({ratio.low:.2f} to {ratio.high:.2f})."
    )


def _row(name: str, outlook: Outlook) -> OutlookRow:
    full, now = outlook.saturation, outlook.at_load
    return OutlookRow(
        name=_NAMES[name],
        rate=percent(outlook.rate),
        saved=percent(outlook.time_saved),
        throughput=f"{outlook.gain:.2f}x" if full is None else f"{full.requests:,.1f}",
        ttft="" if now is None else f"{milliseconds(now.ttft.p50)} / {milliseconds(now.ttft.p95)}",
        gpus="-" if outlook.gpus is None else str(outlook.gpus),
        shares=tuple(milliseconds(times.ttft.p50) for times in outlook.at_shares),
    )


def _lines(found: Prediction) -> Iterator[str]:
    bound = "" if found.bound is None else f"; a cache could give {found.bound:.2f}x at most"
    yield f"Prefill is {percent(found.prefill_share)} of the GPU time without a cache{bound}."
    if points := found.points:
        changes = [
            f"{phase} {_change(points[f'{phase}_off'], points[f'{phase}_on'])}"
            for phase in ("prefill", "decode")
        ]
        ridge = f"{points['prefill_off'].ridge:,.0f}"
        yield f"On the roofline (ridge at {ridge} FLOP per byte): {'; '.join(changes)}."
    if found.on_outlook.saturation is None:
        return
    yield f"In closed form the throughput ratio is {found.closed:.2f}."
    if found.calibration is None:
        factor = found.times_factor
        yield (
            "Not calibrated: shares of the card's peaks are assumed; any time may be "
            f"{factor.low:.1f} to {factor.high:.1f} times what is told."
        )
    if found.load is not None:
        yield f"Same load: {found.load:.3g} requests per second on one replica."
    if found.host is not None:
        load, compute = (seconds * 1e6 for seconds in found.host)
        word = "pays" if found.loading_pays else "does not pay"
        yield f"A host tier {word}: loading a token's KV takes {load:.2f} us, computing it {compute:.2f} us."


def _change(off: Point, on: Point) -> str:
    if off.bound == on.bound:
        return f"{off.bound}-bound without a cache ({off.intensity:,.0f}) and with it ({on.intensity:,.0f})"
    without, with_it = (f"{point.bound}-bound ({point.intensity:,.0f})" for point in (off, on))
    return f"{without} without a cache, {with_it} with it"


def _figure(reference: Reference) -> tuple[str, str, str, str]:
    def told(value: float | None) -> str:
        if value is None:
            return "-"
        return percent(value) if reference.unit == "share" else f"{value:.2f}x"

    return reference.name, told(reference.value), told(reference.ours), reference.text


def prediction_row(found: Prediction | None) -> dict[str, Any] | None:
    """The prediction in report.json."""
    if found is None:
        return None
    off, on = found.off_outlook, found.on_outlook
    timed = off.at_load is not None or on.at_load is not None
    counted = off.gpus is not None or on.gpus is not None
    return {
        "model": found.model,
        "gpu": found.gpu,
        "stand_in": {"model": found.stand_in[0], "gpu": found.stand_in[1]},
        "tensor_parallel": found.cards,
        "weights": found.weights,
        "kv_dtype": found.kv,
        "pool_tokens": found.pool,
        "calibrated": found.calibration is not None,
        "baseline": found.baseline,
        "prefill_share": _number(found.prefill_share),
        "prefill_time_saved": _number(found.time_saved),
        "ttft_ms": {
            name: {
                "off": None if off.at_load is None else _ms(getattr(off.at_load.ttft, name)),
                "on": None if on.at_load is None else _ms(getattr(on.at_load.ttft, name)),
            }
            for name in QUANTILES
        }
        if timed
        else None,
        "throughput_ratio": _number(found.ratio),
        "throughput_ratio_closed_form": _number(found.closed),
        "throughput_ratio_bound": _number(found.bound),
        "gpus": {"off": off.gpus, "on": on.gpus} if counted else None,
        "cost": None,
        "interval": _interval(found.interval),
        "intervals": {
            "prefill_time_saved": _interval(found.saved_interval),
            "times_factor": _interval(found.times_factor),
        },
        "load_requests_per_second": _number(found.load),
        "requests": found.requests,
        "engines": [_outlook(outlook) for outlook in found.outlooks.values()],
        "roofline": {
            name: {
                "flop_per_byte": _number(point.intensity),
                "ridge": _number(point.ridge),
                "bound": point.bound,
                "ms": _ms(point.seconds),
            }
            for name, point in found.points.items()
        }
        or None,
        "host": None
        if found.host is None
        else {
            "load_us_per_token": _number(found.host[0] * 1e6),
            "compute_us_per_token": _number(found.host[1] * 1e6),
            "pays": found.loading_pays,
        },
        "published": [
            {
                "name": reference.name,
                "value": reference.value,
                "unit": reference.unit,
                "ours": _number(reference.ours),
                "text": reference.text,
                "source": reference.source,
                "checked": reference.checked,
            }
            for reference in found.references
        ],
    }


def _outlook(outlook: Outlook) -> dict[str, Any]:
    full = outlook.saturation
    row: dict[str, Any] = {
        "name": outlook.name,
        "hit_rate": _number(outlook.rate),
        "prefill_time_saved": _number(outlook.time_saved),
        "throughput_ratio_closed_form": _number(outlook.gain),
    }
    if full is None:
        return row
    row["saturation"] = {
        "requests_per_second": _number(full.requests),
        "output_tokens_per_second": _number(full.outputs),
        "decode_batch": _number(full.batch),
        "refused": full.refused,
    }
    if outlook.gpus is not None:
        row["gpus"] = outlook.gpus
    row["same_load"] = [] if outlook.at_load is None else [_times(outlook.at_load)]
    row["same_utilisation"] = [_times(times) for times in outlook.at_shares]
    return row


def _times(times: Times) -> dict[str, Any]:
    row = {"load": _number(times.load), "hit_rate": _number(times.rate)}
    named = {"ttft_ms": times.ttft, "e2e_ms": times.e2e, "itl_ms": times.itl, "queue_ms": times.queue}
    return row | {name: _quantiles(found) for name, found in named.items() if found is not None}


def _quantiles(found: Quantiles) -> dict[str, float | None]:
    return {name: _ms(getattr(found, name)) for name in QUANTILES}


def _interval(found: Interval) -> dict[str, float | None]:
    return {"low": _number(found.low), "high": _number(found.high)}


def _ms(seconds: float) -> float | None:
    return _number(seconds * 1000)


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
