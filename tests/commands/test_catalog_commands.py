"""``models``, ``gpus``, ``calibrate``, and predictions from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.cli import main

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main([*arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code == 2 else captured.out


def test_every_model_and_card_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(run(capsys, "models", "--json"))
    assert listed["schema"] == "radixadvisor/models/1" and len(listed["models"]) == 22
    shown = run(capsys, "models", "--no-color")
    assert all(entry["name"][:18] in shown for entry in listed["models"])
    cards = json.loads(run(capsys, "gpus", "--json"))
    assert cards["schema"] == "radixadvisor/gpus/1" and len(cards["gpus"]) == 12
    shown = run(capsys, "gpus", "--no-color")
    assert all(card["name"] in shown for card in cards["gpus"])
    assert "A10-24GB ?" in shown and "MI300X-192GB ?" in shown
    assert len(run(capsys, "gpus", "--quiet").splitlines()) == 12


def test_what_a_system_prompt_pins_beside_sixteen_copies(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(run(capsys, "models", "llama-3.1-8b", "--pin", "2000").split())
    assert "2,000 tokens kept resident takes 262 MB" in shown
    assert "16 sequences that each hold it without reuse take 4.2 GB" in shown
    page = json.loads(run(capsys, "models", "LLAMA-3.1-8B", "--pin", "2000", "--json"))
    assert page["pin"] == {
        "tokens": 2000,
        "sequences": 16,
        "pinned": 2000 * 131_072,
        "copies": 16 * 2000 * 131_072,
    }


def test_prompts_on_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    page = json.loads(
        run(capsys, "models", "llama-3.1-8b", "--gpu", "h100", "--step-ms", "0.000001", "--json")
    )
    assert [round(row["speedup"], 2) for row in page["prompts"]] == [4.76, 8.95, 7.47, 6.11]
    assert page["pool_tokens"] == 454_188 and page["gpu"] == "H100-SXM-80GB"
    shown = run(capsys, "models", "llama-3.1-70b", "--gpu", "h100", "--prompt", "500", "--no-color")
    assert "the weights do not fit" in shown and "500" in shown
    assert "2 x H100" in run(capsys, "models", "llama-3.1-70b", "--gpu", "h100", "--tp", "2")


def test_a_folder_is_a_model_everywhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    sizes = {"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000}
    (folder / "config.json").write_text(
        json.dumps({"model_type": "llama", "num_key_value_heads": 2, "intermediate_size": 2048, **sizes})
    )
    page = json.loads(run(capsys, "models", str(folder), "--json"))
    assert page["kv_bytes_per_token"] == 2 * 4 * 2 * 128 * 2
    out = str(tmp_path / "out")
    log = str(SAMPLES / "three.jsonl")
    report = json.loads(run(capsys, "analyze", log, "--model", str(folder), "--json", "--out", out))
    assert report["prediction"]["model"] == "mine"
    assert report["kv_bytes_per_token"] == page["kv_bytes_per_token"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["models", "nothing-7b"], "Unknown model 'nothing-7b'"),
        (["gpus", "h1000"], "Unknown GPU 'h1000'"),
        (["models", "--pin", "10"], "name it"),
        (["models", "llama-3.1-8b", "--gpu", "h100", "--hit-rate", "1"], "below 1"),
        (["models", "llama-3.1-8b", "--gpu", "h100", "--step-ms", "0"], "never free"),
        (["models", "llama-3.1-8b", "--gpu", "h100", "--mfu", "2"], "mfu is a share"),
        (["models", "llama-3.1-8b", "--pin", "10", "--kv-dtype", "fp5"], "KV precision"),
        (["calibrate", "missing.csv"], "Cannot read"),
        (["analyze", str(SAMPLES / "three.jsonl"), "--baseline", "trt"], "baseline"),
        (["analyze", str(SAMPLES / "three.jsonl"), "--gpu", "h1000"], "Unknown GPU"),
        (["analyze", str(SAMPLES / "three.jsonl"), "--step-ms", "0"], "never free"),
        (["analyze", str(SAMPLES / "three.jsonl"), "--rate", "-1"], "above 0"),
        (["analyze", str(SAMPLES / "three.jsonl"), "--calibration", "missing"], "calibration"),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in run(capsys, *arguments, code=2)


def test_a_prediction_from_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log, out = str(SAMPLES / "agent-tools.jsonl"), str(tmp_path)
    arguments = ["analyze", log, "--no-advice", "--gpu", "h100", "--out", out]
    report = json.loads(run(capsys, *arguments, "--json"))
    found = report["prediction"]
    assert found["gpu"] == "H100-SXM-80GB" and not found["calibrated"]
    assert found["interval"]["low"] < found["throughput_ratio"] < found["interval"]["high"]
    for name in ("p50", "p95", "p99"):
        assert found["ttft_ms"][name]["off"] > found["ttft_ms"][name]["on"] > 0
    assert found["gpus"] == {"off": 1, "on": 1} and found["cost"] is None
    assert [row["name"] for row in found["engines"]] == ["none", "vllm", "sglang"]
    assert "prices" in report["not_evaluated"]["prediction.cost"]
    skill = (tmp_path / "skill-radix-scheduler-advisor.md").read_text()
    assert "## What it is worth" in skill and "Published figures beside" in skill
    shown = run(capsys, *arguments, "--no-color")
    assert "What it is worth" in shown and "sglang (radix, lpm)" in shown


def test_calibrated_from_measured_points(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    points, file = tmp_path / "points.csv", tmp_path / "calibration.json"
    rows = ["n,c,b,ctx,seconds"]
    rows += [
        f"{n},{c},,,{0.01 + 4e-5 * n + 1e-9 * (n * c + n * n / 2)}"
        for n in (100, 900, 4000)
        for c in (0, 800, 5000)
    ]
    rows += [
        f",,{b},{b * length},{0.012 + 1e-4 * b + 2e-8 * b * length}"
        for b in (1, 9, 60)
        for length in (90, 900)
    ]
    points.write_text("\n".join(rows))
    shown = run(capsys, "calibrate", str(points), "-o", str(file), "--model", "llama-3.1-8b", "--no-color")
    assert "Usable" in shown
    log, out = str(SAMPLES / "three.jsonl"), str(tmp_path / "out")
    common = ["analyze", log, "--no-advice", "--calibration", str(file), "--json", "--out", out]
    found = json.loads(run(capsys, *common, "--model", "llama-3.1-8b"))["prediction"]
    assert found["calibrated"] and found["interval"]["high"] < 1.05 * found["throughput_ratio"]
    other = json.loads(run(capsys, *common, "--model", "qwen3-8b"))
    assert other["prediction"] is None
    assert "measured on llama-3.1-8b" in other["not_evaluated"]["prediction"]


def test_a_calibration_that_misses_ends_with_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    points, file = tmp_path / "points.json", tmp_path / "calibration.json"
    prefill = [{"n": 100 * (i + 1), "c": 0, "seconds": 0.01 if i % 2 else 1.0} for i in range(9)]
    decode = [{"b": i + 1, "ctx": 100 * i, "seconds": 0.01} for i in range(6)]
    points.write_text(json.dumps({"prefill": prefill, "decode": decode}))
    shown = run(capsys, "calibrate", str(points), "-o", str(file), "--quiet", code=1)
    assert shown.startswith("unusable") and "gate" in shown
    assert json.loads(file.read_text())["usable"] is False


def test_calibrated_from_a_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    log, out = str(SAMPLES / "agent-tools.jsonl"), str(tmp_path)
    run(capsys, "replay", log, "--limit", "48", "--out", out, "--quiet")
    file = tmp_path / "calibration.json"
    # Whether a busy machine passes the gates is not what is tested here.
    assert main(["calibrate", str(tmp_path / "replay.json"), "-o", str(file), "--quiet"]) in (0, 1)
    capsys.readouterr()
    found = json.loads(file.read_text())
    assert (found["model"], found["device"]) == ("tiny", "cpu")
    assert found["prefill"]["points"] >= 6 and min(found["prefill"]["coefficients"]) >= 0
    report = json.loads(
        run(capsys, "analyze", log, "--no-advice", "--calibration", str(file), "--json", "--out", out)
    )
    if found["usable"]:
        assert report["prediction"]["model"] == "tiny" and report["prediction"]["roofline"] is None
    else:
        assert "gate" in report["not_evaluated"]["prediction"]
