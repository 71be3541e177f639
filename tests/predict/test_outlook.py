"""Predictions of the samples: closed form against simulation, loads, intervals, reasons, published ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.advice import no_advice
from radixadvisor.analysis.forecast import forecast
from radixadvisor.analysis.measure import Measured, measure
from radixadvisor.catalog import gpu, model
from radixadvisor.errors import UsageError
from radixadvisor.predict.calibrate import Calibration, Fit
from radixadvisor.predict.clock import CLIENTS, repeated
from radixadvisor.predict.closed_form import closed_form, gpus_needed, throughput_gain
from radixadvisor.predict.outlook import predict
from radixadvisor.predict.results import Prediction
from radixadvisor.predict.target import Target
from radixadvisor.predict.workload import Form, Workload
from radixadvisor.trace import Trace

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LLAMA, H100 = model("llama-3.1-8b"), gpu("h100")


@cache
def measured(name: str) -> tuple[Trace, Measured]:
    trace, _ = open_trace([str(SAMPLES / f"{name}.jsonl")], AnalyzeOptions())
    return trace, measure(trace)


@cache
def predicted(name: str, **options: object) -> Prediction:
    trace, found = measured(name)
    asked = AnalyzeOptions(**{"gpu": "h100", **options})  # type: ignore[arg-type]
    prediction, _ = forecast(trace, found, no_advice("not here"), asked, LLAMA)
    assert prediction is not None
    return prediction


def workload(name: str, *, timed: bool = False) -> Workload:
    from radixadvisor.analysis.columns import requests_of

    trace, found = measured(name)
    outputs = np.array([trace.output_lengths[index] for index in trace.order])
    requests = requests_of(trace) if timed else None
    return Workload(Form(found.lengths, found.profiles, requests), outputs, 100.0)


@pytest.mark.parametrize(
    "name", ["rag-consistent", "agent-tools", "one-shots", "mixed-apps", "long-system-chat", "rag-shuffled"]
)
def test_closed_form_and_simulation_agree_at_saturation(name: str) -> None:
    found = predicted(name)
    assert found.ratio == pytest.approx(found.closed, rel=0.05)
    full = found.outlooks["none"].saturation
    assert full is not None
    trace, counts = measured(name)
    outputs = np.array([trace.output_lengths[index] for index in trace.order])
    roofline = Target(LLAMA, H100).roofline()
    time = closed_form(roofline, np.zeros_like(counts.lengths), counts.lengths, outputs, CLIENTS)
    assert full.requests == pytest.approx(len(outputs) / (time.prefill_off + time.decode), rel=0.05), (
        "requests per second, not their ratio alone"
    )


@pytest.mark.parametrize("name", ["rag-consistent", "agent-tools", "one-shots", "mixed-apps"])
def test_the_first_token_waits_strictly_longer_at_a_higher_load(name: str) -> None:
    for outlook in predicted(name).outlooks.values():
        assert [times.load for times in outlook.at_shares] == pytest.approx([0.5, 0.7, 0.9])
        for quantile in ("p50", "p95"):
            waits = [getattr(times.ttft, quantile) for times in outlook.at_shares]
            assert waits[0] < waits[1] < waits[2], (outlook.name, quantile)


def test_a_repeated_log_hits_as_often_as_one_that_is_served_in_order() -> None:
    """Copies side by side keep a conversation's next turn from being sent before its last one is cached."""
    for name in ("rag-consistent", "agent-tools", "long-system-chat"):
        counts = measured(name)[1]
        in_order = counts.profiles["sglang"].sum() / counts.lengths.sum()
        assert predicted(name).outlooks["sglang"].rate == pytest.approx(in_order, abs=0.05)


def test_assumed_outputs_do_not_all_end_together() -> None:
    from radixadvisor.analysis.forecast import _output_lengths

    trace = replace_lengths(measured("one-shots")[0])
    sizes = np.array(_output_lengths(trace))
    assert sizes.mean() == pytest.approx(256, rel=0.02) and len(set(sizes.tolist())) > 50
    assert sizes.min() >= 128 and sizes.max() <= 384
    told = measured("one-shots")[0]
    assert _output_lengths(told) == told.output_lengths


def replace_lengths(trace: Trace) -> Trace:
    """The trace as if its log told no outputs."""
    count = len(trace.requests)
    return replace(
        trace,
        outputs=[b""] * count,
        output_lengths=[256] * count,
        assumed_output=256,
        output_sources=Counter({"assumed length": count}),
    )


def test_copies_take_turns_and_share_nothing() -> None:
    from radixadvisor.analysis.columns import requests_of

    requests = requests_of(measured("three")[0])
    several, rows = repeated(requests, 2, 3)
    assert rows == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 2 and len(several) == 18
    assert several.arrivals is None
    copies = {several.namespace(index).partition("|")[0] for index in range(18)}
    assert copies == {"0", "1", "2", "3", "4", "5"}
    order = requests.order()
    assert [several.prompt(index) for index in range(0, 9, 3)] == [requests.prompt(index) for index in order]


def test_no_wait_is_told_above_nine_tenths_of_the_capacity() -> None:
    capacity = predicted("agent-tools").outlooks["none"].saturation
    assert capacity is not None
    below = predicted("agent-tools", rate=0.89 * capacity.requests)
    above = predicted("agent-tools", rate=0.93 * capacity.requests)
    assert below.off_outlook.at_load is not None
    assert above.off_outlook.at_load is None and "above 0.9" in above.missing["ttft_ms.p50.off"]
    assert above.on_outlook.at_load is not None and "ttft_ms.p50.on" not in above.missing
    far = predicted("agent-tools", rate=50 * capacity.requests)
    assert "above 0.9" in far.missing["ttft_ms"]
    assert far.off_outlook.gpus == gpus_needed(50 * capacity.requests, capacity.requests, 0.7)


def test_same_load_and_same_utilisation_are_two_questions() -> None:
    found = predicted("rag-consistent", rate=10.0)
    off, on = found.off_outlook, found.on_outlook
    assert off.at_load is not None and on.at_load is not None
    assert off.at_load.load > 2 * on.at_load.load
    assert off.at_shares[0].load == pytest.approx(on.at_shares[0].load)
    assert off.at_load.ttft.p50 > on.at_load.ttft.p50 and off.at_load.itl is not None


def test_the_gain_is_that_of_the_formula_and_bounded() -> None:
    for name in ("rag-consistent", "agent-tools", "one-shots"):
        found = predicted(name)
        assert found.closed == pytest.approx(throughput_gain(found.prefill_share, found.time_saved))
        assert found.bound == pytest.approx(throughput_gain(found.prefill_share, 1.0))
        assert found.closed < found.bound
    assert throughput_gain(0.5, 0.5) == pytest.approx(4 / 3)


def test_cards_for_a_load() -> None:
    assert gpus_needed(70, 10, 0.7) == 10
    assert gpus_needed(71, 10, 0.7, cards=8) == 88
    assert gpus_needed(0.001, 10, 0.7) == 1


def test_without_a_card_ratios_stand_on_stand_ins_and_times_are_missing() -> None:
    trace, found = measured("rag-consistent")
    prediction, missing = forecast(trace, found, no_advice("not here"), AnalyzeOptions(), None)
    assert prediction is not None
    assert (prediction.model, prediction.gpu) == (None, None)
    assert prediction.stand_in == ("llama-3.1-8b", "H100-SXM-80GB")
    assert prediction.ratio > 3 and prediction.ratio == prediction.closed
    assert {f"prediction.{name}" for name in ("model", "gpu", "ttft_ms", "gpus", "host")} <= missing.keys()
    assert prediction.on_outlook.saturation is None and prediction.pool is None


def test_nothing_measured_means_a_wide_interval_and_a_calibration_a_narrow_one() -> None:
    fit = Fit((0.002, 3e-5, 1e-10, 1e-9), 20, 10, 0.03, 0.02)
    decode = Fit((0.008, 2e-5, 5e-8), 20, 10, -0.04, 0.02)
    wide = predict(workload("agent-tools"), Target(LLAMA, H100))
    narrow = predict(
        workload("agent-tools"), Target(LLAMA, H100, calibration=Calibration(fit, decode, None, None))
    )
    assert wide.interval.low <= 0.9 * wide.ratio and wide.interval.high >= 1.1 * wide.ratio
    assert wide.times_factor.low < 0.8 and wide.times_factor.high > 1.3
    assert narrow.interval.low == pytest.approx(narrow.ratio * 0.96)
    assert narrow.interval.high == pytest.approx(narrow.ratio * 1.04)
    assert wide.calibration is None and narrow.calibration is not None


def test_a_calibration_that_does_not_hold_or_fit_withholds_everything(tmp_path: Path) -> None:
    good, bad = Fit((0.002, 3e-5, 0, 0), 20, 10, 0.03, 0.02), Fit((0.002, 3e-5, 0, 0), 20, 10, 0.3, 0.4)
    decode = Fit((0.008, 2e-5, 5e-8), 20, 10, 0.0, 0.01)
    trace, found = measured("rag-consistent")

    def reason(calibration: Calibration, **options: object) -> str:
        path = tmp_path / "calibration.json"
        path.write_bytes(calibration.to_json())
        asked = AnalyzeOptions(model="llama-3.1-8b", calibration=str(path), **options)  # type: ignore[arg-type]
        prediction, missing = forecast(trace, found, no_advice("not here"), asked, LLAMA)
        assert prediction is None
        return missing["prediction"]

    assert "prefill" in reason(Calibration(bad, decode, None, None))
    assert "qwen3-8b" in reason(Calibration(good, decode, "qwen3-8b", None))
    assert "A100" in reason(Calibration(good, decode, None, "A100-SXM-80GB"), gpu="h100")


def test_a_measured_device_needs_no_card(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    fit = Fit((0.01, 1e-3, 1e-8, 1e-7), 20, 10, 0.03, 0.02)
    decode = Fit((0.02, 1e-3, 1e-7), 20, 10, 0.0, 0.01)
    path.write_bytes(Calibration(fit, decode, "llama-3.1-8b", "cpu").to_json())
    trace, found = measured("three")
    prediction, missing = forecast(
        trace, found, no_advice("not here"), AnalyzeOptions(calibration=str(path)), LLAMA
    )
    assert prediction is not None and prediction.calibration == "llama-3.1-8b on cpu"
    assert prediction.on_outlook.saturation is not None
    assert "unlimited" in missing["prediction.pool_tokens"]


def test_the_model_has_to_fit() -> None:
    with pytest.raises(UsageError, match=r"llama-3\.1-70b needs .* GiB .* H100"):
        predict(workload("three"), Target(model("llama-3.1-70b"), H100))
    assert predict(workload("three"), Target(model("llama-3.1-70b"), H100, cards=4)).cards == 4
    assert predict(workload("three"), Target(model("llama-3.1-70b"))).cards == 2
    with pytest.raises(UsageError, match="requests per second"):
        predict(workload("three"), Target(LLAMA), rate=0)


def test_a_pool_that_holds_no_prompt_is_a_reason_not_a_crash() -> None:
    found = predict(workload("three", timed=True), Target(LLAMA, H100, pool_tokens=64))
    full = found.outlooks["none"].saturation
    assert full is not None and full.requests == 0 and full.refused == 3
    assert "no request fits the pool" in found.missing["ttft_ms"]
    assert "no request fits the pool" in found.missing["gpus"]


def test_published_figures_stand_beside_ours() -> None:
    found = predicted("rag-consistent")
    named = {reference.name: reference for reference in found.references}
    assert {reference.value for reference in named.values()} >= {1.29, 6.4, 0.864, 0.5, 0.99, 0.36}
    assert all(reference.ours is not None and reference.source for reference in named.values())
    assert named["prefill GPU time saved, chat trace"].ours == found.on_outlook.time_saved


def test_a_real_hour_of_chat_saves_what_was_published(shared: Path) -> None:
    """FAST'25: 36 % of prefill GPU time on the conversation trace with an unlimited cache, 70B dimensions."""
    path = shared / "data" / "mooncake_conversation" / "conversation_trace.jsonl"
    trace, _ = open_trace([str(path)], AnalyzeOptions())
    found = measure(trace)
    prediction, _ = forecast(trace, found, no_advice("not here"), AnalyzeOptions(), model("llama-3.1-70b"))
    assert prediction is not None
    assert prediction.time_saved == pytest.approx(0.361, abs=0.003)
    alone = replace(Target(model("llama-3.1-70b"), gpu("a100-sxm-80")), cards=4).roofline()
    new = found.lengths - found.profiles["sglang"]
    off = alone.prefill_each(found.lengths, np.zeros_like(new)).sum()
    on = alone.prefill_each(new, found.profiles["sglang"]).sum()
    assert 1 - on / off == pytest.approx(0.361, abs=0.003)
