"""Calibration: what is fitted, what is held out, what is refused, and the files it comes from and goes to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from radixengine.scheduler import Step

from radixadvisor.catalog import gpu, model
from radixadvisor.errors import NoUsableInput, UsageError
from radixadvisor.predict.calibrate import Calibration, calibrate, read_calibration
from radixadvisor.predict.points import (
    DecodePoint,
    Points,
    PrefillPoint,
    prefill_point,
    read_points,
    step_points,
    thinned,
    to_rows,
)
from radixadvisor.predict.roofline import Roofline

K = (0.004, 3e-5, 2e-10, 1e-8)
D = (0.008, 4e-5, 3e-8)


def points(noise: float = 0.0, prefills: int = 24, decodes: int = 18) -> Points:
    rng = np.random.default_rng(1)
    prefill, decode = [], []
    for _ in range(prefills):
        new, cached = int(rng.integers(50, 8000)), int(rng.integers(0, 30_000))
        seconds = K[0] + K[1] * new + K[2] * (new * cached + new * new / 2) + K[3] * (new + cached)
        prefill.append(prefill_point([(new, cached)], seconds * (1 + noise * rng.normal())))
    for _ in range(decodes):
        batch = int(rng.integers(1, 200))
        context = batch * int(rng.integers(100, 4000))
        seconds = D[0] + D[1] * batch + D[2] * context
        decode.append(DecodePoint(batch, context, seconds * (1 + noise * rng.normal())))
    return Points(tuple(prefill), tuple(decode))


def test_true_coefficients_come_back() -> None:
    found = calibrate(points())
    assert found.prefill.coefficients == pytest.approx(K, rel=1e-6)
    assert found.decode.coefficients == pytest.approx(D, rel=1e-6)
    assert found.failures == () and found.error < 1e-6
    assert (found.prefill.points, found.prefill.held_out) == (16, 8)
    assert found.prefill_each(np.array([1000]), np.array([500]))[0] == pytest.approx(
        found.pass_seconds((1000,), (500,), 1)
    )
    together = found.decode_passes([100, 300], 3)
    assert together == pytest.approx([found.pass_seconds((), (), 0, (100 + i, 300 + i)) for i in range(3)])


def test_a_pass_of_both_kinds_pays_once_for_being_one() -> None:
    found = calibrate(points())
    both = found.pass_seconds((1000,), (0,), 1, (500,))
    apart = found.pass_seconds((1000,), (0,), 1) + found.pass_seconds((), (), 0, (500,))
    assert both == pytest.approx(apart - min(K[0], D[0]))


def test_noise_shows_in_the_held_out_error_and_chaos_fails_the_gate() -> None:
    quiet, loud = calibrate(points(0.03)), calibrate(points(0.5))
    assert 0 < quiet.prefill.median_error < 0.1 and quiet.failures == ()
    assert any("prefill" in reason and "gate" in reason for reason in loud.failures)


def test_a_roofline_is_calibrated_back_to_itself() -> None:
    """The form of the fit covers what the roofline computes, within what max() bends."""
    roofline = Roofline.of(model("llama-3.1-8b"), gpu("h100-sxm"))
    prefill = [(n, c) for n in (600, 1200, 2500, 5000, 8000) for c in (0, 2000, 9000)]
    decode = [[length] * batch for batch in (1, 8, 32, 128) for length in (200, 1000, 4000)]
    found = calibrate(
        Points(
            tuple(prefill_point([pair], roofline.prefill_seconds(*pair)) for pair in prefill),
            tuple(
                DecodePoint(len(ctx), sum(ctx), float(roofline.decode_passes(ctx, 1)[0])) for ctx in decode
            ),
        )
    )
    assert found.failures == () and found.error < 0.02


@pytest.mark.parametrize(("prefills", "decodes", "phase"), [(7, 6, "8 prefill"), (8, 5, "6 decode")])
def test_too_few_passes(prefills: int, decodes: int, phase: str) -> None:
    with pytest.raises(UsageError, match=f"at least {phase} passes"):
        calibrate(points(0, prefills, decodes))
    calibrate(points(0, 8, 6))


def test_points_from_csv_json_and_lines_are_the_same(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"phase": "prefill", "n": 100, "c": 20, "seconds": 0.01},
        {"phase": "decode", "b": 4, "ctx": 900, "seconds": 0.02},
    ]
    expected = ((PrefillPoint(100, 100 * 20 + 5000, 120, 0.01),), (DecodePoint(4, 900, 0.02),))
    table = tmp_path / "points.csv"
    table.write_text("phase,n,c,b,ctx,ms\nprefill,100,20,,,10\ndecode,,,4,900,20\n")
    lines = tmp_path / "points.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)))
    whole = tmp_path / "points.json"
    whole.write_text(json.dumps({"model": "m", "prefill": rows[:1], "decode": rows[1:]}))
    replayed = tmp_path / "replay.json"
    kept = to_rows(Points(*expected))
    replayed.write_text(json.dumps({"setup": {"model": "m", "device": "cpu"}, "points": kept}))
    for path in (table, lines, whole, replayed):
        found = read_points(path)
        assert (found.prefill, found.decode) == expected, path
    assert read_points(whole).model == "m"
    assert (read_points(replayed).model, read_points(replayed).device) == ("m", "cpu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n,c\n1,2\n", "row 1: seconds"),
        ("n,c,seconds\n1,2,0\n", "row 1: seconds"),
        ("c,seconds\n2,1\n", "n above 0"),
        ("n,c,seconds\n-1,2,1\n", "0 or above"),
        ('[{"n": 1}, 3]', "row 1"),
        ("{broken", "neither JSON"),
    ],
)
def test_rows_that_are_no_points(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "points"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_points(path)


def test_a_file_without_points(tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text('{"schema": "radixadvisor/replay/1", "runs": []}')
    with pytest.raises(NoUsableInput, match="no measured passes"):
        read_points(path)
    with pytest.raises(UsageError, match="Cannot read"):
        read_points(tmp_path / "missing.csv")


def test_points_of_a_schedule() -> None:
    schedule = [
        Step(0.0, 0.5, ((1, 10, 30), (2, 0, 5)), (), 1, (), 45),
        Step(0.5, 0.2, ((1, 40, 2),), (2,), 1, (), 48),
        Step(0.7, 0.6, (), (1, 2), 3, (), 54),
    ]
    found = step_points(schedule)
    assert found.prefill == (PrefillPoint(35, 30 * 10 + 450 + 12.5, 45, 0.5),)
    # Contexts before: 42 and 6; the passes see them with 1, 2 and 3 tokens more each.
    assert found.decode == (DecodePoint(2, 48 + 2 * 2, pytest.approx(0.2)),)


def test_a_file_keeps_some_of_many_passes() -> None:
    many = Points(tuple(PrefillPoint(n, n, n, 1.0) for n in range(1, 2001)), points().decode)
    kept = thinned([many, many])
    assert len(kept.prefill) == 500 and len(kept.decode) == 36
    assert kept.prefill[0].new == 1 and len({one.new for one in kept.prefill}) >= 250
    assert thinned([]) == Points((), ())


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    found = replace(calibrate(points(0.05)), model="tiny", device="cpu")
    path = tmp_path / "calibration.json"
    path.write_bytes(found.to_json())
    assert read_calibration(path) == found
    assert json.loads(path.read_text())["usable"] is True


def test_files_that_are_no_calibration(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="makes one"):
        read_calibration(path)
    body = json.loads(Calibration.to_json(calibrate(points())))
    body["prefill"]["coefficients"] = [1, 2]
    path.write_text(json.dumps(body))
    with pytest.raises(UsageError, match="damaged"):
        read_calibration(path)
