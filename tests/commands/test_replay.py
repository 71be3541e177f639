"""``replay`` end to end on the tiny model: hits, tokens, claims, files, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from radixengine.jobs import Job
from radixengine.results import EngineRun

import radixadvisor
from radixadvisor.cli import main
from radixadvisor.replaying.machine import Machine

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
RAG = str(SAMPLES / "rag-consistent.jsonl")
QUICK = ["--threads", "1", "--scale", "32", "--max-new", "3"]
SCHEMA = "radixadvisor/replay/1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["replay", *arguments, *QUICK, "--json"]) == code
    shown = capsys.readouterr().out
    assert shown == Path("outputs/replay.json").read_text(encoding="ascii")
    return json.loads(shown, parse_constant=pytest.fail)  # type: ignore[no-any-return]


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from nulls(inner, f"{path}[{number}]")


def test_off_and_on_serve_the_same_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    found = replayed(capsys, RAG, "--limit", "12")
    assert (found["schema"], found["complete"]) == (SCHEMA, True)
    assert found["input"]["requests"] == 12
    off, on = found["runs"]
    assert (off["cache"], off["tokens"]["hit"], off["tokens"]["computed"]) == (
        False,
        0,
        off["tokens"]["prompt"],
    )
    assert on["tokens"]["hit"] + on["tokens"]["computed"] == on["tokens"]["prompt"] == off["tokens"]["prompt"]
    assert on["agreement"] == {
        "compared": 12,
        "differing": 0,
        "failures": 0,
        "tolerance": 0.001,
        "differences": [],
    }
    assert on["speedup"]["prefill_flops"] > 1.2
    assert on["hits"]["deviating_requests"] == 0
    assert on["ttft"]["hit"]["count"] + on["ttft"]["miss"]["count"] == on["ttft"]["all"]["count"] == 12
    assert on["inter_token"]["count"] == on["tokens"]["output"] - 12
    assert on["pool"]["peak_used"] <= on["pool"]["capacity"]
    reasons = found["not_evaluated"]
    for path in nulls(found):
        assert any(path.startswith(name) for name in reasons), f"{path} is null without a reason"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--concurrency", "1"],
        ["--concurrency", "1", "--capacity", "90", "--page", "4"],
        ["--concurrency", "9", "--capacity", "110", "--policy", "lpm", "--policy", "fcfs"],
        ["--concurrency", "9", "--capacity", "100", "--host-ratio", "3", "--policy", "dfs-weight"],
        ["--arrivals", "--speedup", "400", "--capacity", "120"],
    ],
    ids=" ".join,
)
def test_measured_hits_are_the_simulated_ones_request_for_request(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = replayed(capsys, str(SAMPLES / "agent-tools.jsonl"), "--limit", "30", *arguments)
    for run in found["runs"][1:]:
        assert run["hits"]["deviating_requests"] == 0
        assert run["hits"]["recorded"] == run["hits"]["measured"] > 0
        assert run["agreement"]["failures"] == 0
        if "--capacity" in arguments and "--arrivals" not in arguments:
            assert run["pool"]["evicted"] > 0


def test_one_client_hits_what_simulate_says(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(SAMPLES / "voice-preamble.jsonl")
    quick = ["--limit", "15", "--concurrency", "1", "--threads", "1", "--max-new", "2", "--json"]
    assert main(["replay", log, *quick]) == 0
    run = json.loads(capsys.readouterr().out)["runs"][1]
    assert main(["simulate", log, "--limit", "15", "--concurrency", "1", "--json"]) == 0
    simulated = json.loads(capsys.readouterr().out)["runs"][0]
    assert run["tokens"]["hit"] == run["hits"]["predicted"] == simulated["served_tokens"] > 0


def test_from_python_it_gives_plain_data() -> None:
    found = radixadvisor.replay(RAG, limit=4, scale=32, max_new=2, threads=1)
    assert found.complete
    assert not found.failed
    assert [run.label for run in found.runs] == ["given off", "given fcfs"]


def test_a_matrix_tells_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    found = replayed(capsys, RAG, "--matrix", "--limit", "60")
    runs = {(run["order"], run["policy"]): run for run in found["runs"]}
    assert list(runs) == [
        (order, policy) for order in ("given", "shuffled") for policy in ("off", "fcfs", "lpm", "dfs-weight")
    ]
    assert "orders.rewritten" in found["not_evaluated"]
    assert runs["given", "lpm"]["tokens"]["hit"] > runs["given", "fcfs"]["tokens"]["hit"]
    assert runs["given", "lpm"]["speedup"]["prefill_flops"] > 3
    assert runs["shuffled", "lpm"]["speedup"]["prefill_flops"] < 1.3
    assert all(run["hits"]["measured"] == run["hits"]["recorded"] for run in found["runs"])
    assert {claim["name"] for claim in found["claims"]} == {"decision", "cache", "order", "policy"}


def test_prescriptions_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = replayed(capsys, str(SAMPLES / "unique-head.jsonl"), "--matrix", "--limit", "30")
    orders = {order["name"]: order for order in found["orders"]}
    assert orders["rewritten"]["edits"]
    assert orders["rewritten"]["distinct_tokens"] < orders["given"]["distinct_tokens"] / 2
    runs = {(run["order"], run["policy"]): run for run in found["runs"]}
    assert runs["rewritten", "fcfs"]["rate"] > 0.5 > 0.1 > runs["given", "fcfs"]["rate"]


def test_hash_traces_are_filled_with_tokens(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "timestamp": 1000 * at,
            "input_length": 512 * 2 + at,
            "output_length": 2,
            "hash_ids": [1, 2, 10 + at],
        }
        for at in range(1, 6)
    ]
    (folder / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = replayed(capsys, "trace.jsonl", "--concurrency", "1")
    run = found["runs"][1]
    assert run["tokens"]["prompt"] == 5 * (2 * 512 // 32 + 1)
    assert run["tokens"]["hit"] == 4 * (2 * 512 // 32)


@contextmanager
def interrupting(after: int) -> Iterator[Callable[[int, int], None]]:
    def told(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    yield told


def test_an_interrupt_leaves_a_valid_partial_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("radixadvisor.commands.output.stages", lambda **_: interrupting(18))
    found = replayed(capsys, RAG, "--limit", "12", "--concurrency", "1", code=130)
    assert found["complete"] is False
    off, on = found["runs"]
    assert (off["complete"], off["requests"]) == (True, 12)
    assert (on["complete"], on["requests"]) == (False, 6)
    assert on["agreement"]["compared"] == 6
    assert found["claims"] == []
    assert main(["replay", RAG, "--limit", "12", *QUICK]) == 130
    shown = capsys.readouterr()
    assert "Stopped before the end" in shown.out
    assert shown.err.endswith("radixadvisor: Interrupted.\n")


def test_an_interrupt_before_anything_ran_leaves_the_earlier_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = replayed(capsys, RAG, "--limit", "4")

    monkeypatch.setattr("radixadvisor.commands.output.stages", lambda **_: interrupting(0))
    assert main(["replay", RAG, "--limit", "4", *QUICK, "--scale", "8"]) == 130
    assert "wrote" not in capsys.readouterr().err.lower()
    assert json.loads(Path("outputs/replay.json").read_text()) == before


def test_a_kill_leaves_earlier_results_as_they_were(folder: Path) -> None:
    outputs = folder / "outputs"
    outputs.mkdir()
    earlier = {name: f"earlier {name}" for name in ("replay.json", "report.json")}
    for name, content in earlier.items():
        (outputs / name).write_text(content)
    started = folder / "started"
    program = (
        "import radixengine.engine as engine, pathlib, sys\n"
        "from radixadvisor.cli import main\n"
        "run = engine.Engine.run\n"
        "def told(*a, **k):\n"
        f"    pathlib.Path({str(started)!r}).touch()\n"
        "    return run(*a, **k)\n"
        "engine.Engine.run = told\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "replay", RAG, "--repeat", "1000", "--threads", "1"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, env=dict(os.environ)) as process:
        deadline = time.monotonic() + 60
        while not started.exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.3)
        process.kill()
    assert process.returncode == -9
    assert {path.name: path.read_text() for path in outputs.iterdir()} == earlier


def changed_when_cached(monkeypatch: pytest.MonkeyPatch, gap: float) -> None:
    """Make the first request's second token another one wherever a cache is used."""
    run = Machine.run

    def other(self: Machine, jobs: list[Job], setting: Any, progress: Any = None) -> EngineRun:
        made = run(self, jobs, setting, progress)
        rid = jobs[0].rid
        gaps = {rid: np.full(len(one), gap, np.float32) for rid, one in made.gaps.items()}
        tokens = array("i", made.outputs[rid])
        tokens[1] ^= setting.cache
        return replace(made, outputs={**made.outputs, rid: tokens.tobytes()}, gaps=gaps)

    monkeypatch.setattr(Machine, "run", other)


def test_differing_tokens_fail_with_their_gap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed_when_cached(monkeypatch, 0.125)
    found = replayed(capsys, RAG, "--limit", "5", code=1)
    (difference,) = found["runs"][1]["agreement"]["differences"]
    assert (difference["position"], difference["gap"]) == (1, 0.125)
    assert found["runs"][1]["agreement"]["failures"] == 1
    assert main(["replay", RAG, "--limit", "5", *QUICK]) == 1
    assert "logit gap 0.12, NOT a tie at a tolerance of 0.001" in " ".join(capsys.readouterr().out.split())
    assert main(["replay", RAG, "--limit", "5", *QUICK, "--tolerance", "0.2"]) == 0
    assert "a tie at a tolerance of 0.2" in " ".join(capsys.readouterr().out.split())


def test_a_refuted_claim_fails_only_when_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    from radixadvisor.replaying.results import REFUTED, Claim

    claim = Claim(
        "cache", "the cache pays", ("given off", "given fcfs"), "prefill seconds", 3, 1, 1.1, REFUTED
    )
    monkeypatch.setattr("radixadvisor.replaying.conduct.claims_of", lambda runs: (claim,))
    assert main(["replay", RAG, "--limit", "4", *QUICK, "--quiet"]) == 0
    assert main(["replay", RAG, "--limit", "4", *QUICK, "--quiet", "--strict"]) == 1


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_screen(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["replay", RAG, "--limit", "6", *QUICK, "--policy", "dfs-weight", "--shuffle-sections"]) == 0
    shown = capsys.readouterr()
    assert "shuffled dfs-weight" in shown.out
    assert max(map(len, shown.out.splitlines())) <= width
    assert "\x1b" not in shown.out + shown.err
    assert ("requests/s" in shown.out) == (width >= 100)


def test_the_last_report_names_the_log_and_takes_the_section(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(SAMPLES / "three.jsonl", "log.jsonl")
    assert main(["replay", *QUICK]) == 2
    assert "no report at outputs/report.json: name a log" in capsys.readouterr().err
    assert main(["analyze", "log.jsonl", "--quiet"]) == 0
    assert main(["replay", *QUICK, "--quiet"]) == 0
    skill = Path("outputs/skill-radix-scheduler-advisor.md")
    report = skill.read_text()
    assert report.count("## Measured on the bundled engine") == 1
    assert report.startswith("---\nname: radix-scheduler-advisor")
    mode = skill.stat().st_mode
    assert main(["replay", "log.jsonl", *QUICK, "--quiet", "--policy", "lpm"]) == 0
    again = skill.read_text()
    assert again.count("## Measured on the bundled engine") == 1
    assert "given lpm" in again
    assert again.split("## Measured")[0] == report.split("## Measured")[0]
    assert skill.stat().st_mode == mode
    assert main(["replay", RAG, "--limit", "3", *QUICK, "--quiet"]) == 0
    assert skill.read_text() == again, "another log's replay is none of this report's"
    example = again.replace("\n---\n", '\nmetadata:\n  example: "true"\n---\n', 1).split("## Measured")[0]
    skill.write_text(example)
    assert main(["replay", "log.jsonl", *QUICK, "--quiet"]) == 0
    assert skill.read_text() == example


def test_a_report_from_standard_input_names_no_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "outputs").mkdir()
    (folder / "outputs/report.json").write_text(json.dumps({"input": {"files": ["-"]}}))
    assert main(["replay", *QUICK]) == 2
    assert "from standard input" in capsys.readouterr().err
    (folder / "outputs/report.json").write_text("[]")
    assert main(["replay", *QUICK]) == 2
    assert "is no report that names one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "tpu"], "Known: cpu, cuda."),
        (["--gpu", "--device", "cpu"], "give one of them"),
        (["--model", "nonsense"], "Known: llama-3.1-405b,"),
        (["--model", "gpt-oss-20b", "--random-weights"], "Known: llama-3.1-405b,"),
        (["--model", "llama-3.1-8b"], "or --random-weights"),
        (["--model", "llama-3.1-405b", "--random-weights"], "GiB for its weights"),
        (["--model", str(SAMPLES), "--random-weights"], "leave out --random-weights"),
        (["--model", str(SAMPLES)], "no config.json"),
        (["--dtype", "int4"], "Known: bfloat16, float16, float32."),
        (["--policy", "nonsense"], "Known: dfs-weight, fcfs"),
        (["--concurrency", "0"], "at least 1"),
        (["--scale", "0"], "at least 1"),
        (["--capacity", "4", "--page", "16"], "smaller than one page"),
        (["--host-ratio", "-1"], "0 or above"),
        (["--speedup", "2"], "give --arrivals too"),
        (["--arrivals", "--concurrency", "3"], "give one of them"),
        (["--arrivals", "--speedup", "0"], "above 0"),
        (["--repeat", "0"], "at least 1"),
        (["--capacity", "10000000000"], "does not fit the memory"),
        (["--backend", "nonsense"], "nonsense"),
        (["--capacity", "10"], "No prompt fits a pool of 10 tokens"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(SAMPLES / "three.jsonl"), *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.startswith("radixadvisor: ")
    assert shown.err.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_requests_that_a_pool_never_holds_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"tokens": list(range(size)), "output": [1]} for size in (40, 300, 50, 400)]
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--threads", "1", "--scale", "1", "--capacity", "100", "--concurrency", "1"]
    assert main(["replay", "log.jsonl", *arguments, "--json"]) == 0
    for run in json.loads(capsys.readouterr().out)["runs"]:
        assert (run["requests"], run["refused"]["count"]) == (2, 2)
        assert run["hits"]["deviating_requests"] == 0
    assert main(["replay", "log.jsonl", *arguments]) == 0
    assert "2 requests refused, such as: a prompt of" in " ".join(capsys.readouterr().out.split())


def test_a_log_without_times_has_no_arrivals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.jsonl").write_text(json.dumps({"tokens": [1, 2, 3], "output": [4]}) + "\n")
    assert main(["replay", "log.jsonl", "--arrivals"]) == 2
    assert "timestamp" in capsys.readouterr().err


def test_without_cuda_the_cpu_command_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["replay", "my log.jsonl", "--gpu"]) == 2
    assert capsys.readouterr().err == (
        "radixadvisor: No CUDA device is visible to torch here; on the CPU it is: radixadvisor replay 'my "
        "log.jsonl' --device cpu\n"
    )


def test_without_torch_the_line_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["replay", RAG]) == 2
    error = capsys.readouterr().err
    assert "pip install 'radixadvisor[replay]'" in error
    assert error.count("\n") == 1
