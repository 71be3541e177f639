"""``simulate`` end to end: what it compares and exports, and that no option is idle."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.cli import main

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOG = str(SAMPLES / "agent-tools.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def study(capsys: pytest.CaptureFixture[str], *arguments: str, log: str = LOG) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["simulate", log, *arguments, "--json"]) == 0
    shown = capsys.readouterr().out
    assert shown == Path("outputs/simulate.json").read_text(encoding="ascii")
    return json.loads(shown)  # type: ignore[no-any-return]


def served(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    return int(study(capsys, *arguments)["runs"][-1]["served_tokens"])


def test_ledgers_add_up_and_nulls_have_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        (),
        ("--concurrency", "1"),
        ("--replicas", "3", "--capacity", "9000"),
        ("--hosted", "openai"),
    ):
        found = study(capsys, *arguments)
        (run,) = found["runs"]
        assert sum(row["tokens"] or 0 for row in run["ledger"]) == found["prompt_tokens"]
        assert abs(sum(row["share"] or 0 for row in run["ledger"]) - 1) < 1e-9
        empty = {f"ledger.{row['bucket']}" for row in run["ledger"] if row["tokens"] is None}
        assert empty <= set(found["not_evaluated"])


def test_policies_and_engines_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--engine", "SGLang", "--engine", "vllm", "--policy", "fcfs", "--policy", "lpm"]
    found = study(capsys, *arguments, "--capacity", "6000", "--speedup", "40")
    assert [run["label"] for run in found["runs"]] == ["sglang fcfs", "sglang lpm", "vllm fcfs", "vllm lpm"]
    assert [comparison["b"] for comparison in found["comparisons"]] == ["sglang lpm", "vllm fcfs", "vllm lpm"]
    assert found["eviction"][0]["what"].startswith("tree")
    assert main(["simulate", LOG, *arguments, "--capacity", "6000"]) == 0
    shown = capsys.readouterr().out
    assert "Differences" in shown
    assert "sglang lpm against sglang fcfs" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["simulate", LOG, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert quiet.out.startswith("sglang fcfs 9")
    assert (quiet.out.count("\n"), quiet.err) == (1, "")


def test_every_option_has_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    plain = served(capsys)
    assert served(capsys, "--capacity", "1500") < plain
    assert served(capsys, "--page", "64") < plain
    assert served(capsys, "--engine", "none") == 0
    assert served(capsys, "--engine", "vllm", "--num-gpu-blocks", "100") < served(capsys, "--engine", "vllm")
    tight = ("--capacity", "6000", "--concurrency", "4")
    assert served(capsys, *tight, "--evict", "mru") < served(capsys, *tight)
    assert served(capsys, "--replicas", "4") < plain
    assert served(capsys, "--replicas", "4", "--route", "sticky") > served(capsys, "--replicas", "4")
    seeds = {served(capsys, "--replicas", "4", "--route", "random", "--seed", str(seed)) for seed in range(3)}
    assert len(seeds) > 1
    hosts = study(capsys, "--capacity", "1500", "--host-ratio", "4")["runs"][0]
    assert hosts["host_tokens"] > 0
    fast = study(capsys, "--speedup", "1000")["runs"][0]
    assert fast["seconds"]["makespan"] < study(capsys)["runs"][0]["seconds"]["makespan"]
    assert any("sample" in note for note in study(capsys, "--sampled", "0.05")["runs"][0]["notes"])
    assert study(capsys, "--limit", "7")["requests"] == 7
    assert study(capsys, "--tokenizer", "cl100k")["prompt_tokens"] != study(capsys)["prompt_tokens"]
    assert study(capsys, "--chat-template", "llama3.1")["prompt_tokens"] != study(capsys)["prompt_tokens"]


def test_pinning_is_set_against_not_pinning(capsys: pytest.CaptureFixture[str]) -> None:
    runs = study(capsys, "--capacity", "3000", "--pin", "1000")["runs"]
    assert [run["label"] for run in runs] == ["sglang fcfs", "sglang fcfs pinned"]
    assert [run["pinned_tokens"] for run in runs] == [0, 1000]


def test_a_lifetime_belongs_to_a_hosted_api(capsys: pytest.CaptureFixture[str]) -> None:
    short = study(capsys, "--hosted", "DeepSeek", "--ttl", "2")
    assert short["runs"][0]["served_tokens"] < served(capsys, "--hosted", "deepseek")
    ledger = {row["bucket"]: row["tokens"] for row in short["runs"][0]["ledger"]}
    assert ledger["ttl"] > 0
    assert served(capsys, "--hosted", "openai", "--ttl", "24h") >= served(capsys, "--hosted", "openai")


def test_shuffled_sections_show_the_collapse(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(SAMPLES / "rag-consistent.jsonl")
    kept, shuffled = study(capsys, "--shuffle-sections", log=log)["runs"]
    assert shuffled["label"] == "sglang fcfs shuffled"
    assert kept["rate"] > 0.9
    assert shuffled["rate"] < 0.2
    again = study(capsys, "--shuffle-sections", "--seed", "1", log=log)["runs"][1]
    assert again["served_tokens"] != shuffled["served_tokens"]


def test_export_follows_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", LOG, "--capacity", "900", "--export", "out.csv"]) == 0
    assert "Wrote outputs/simulate.json and out.csv." in capsys.readouterr().err
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ids = [json.loads(line)["request_id"] for line in Path(LOG).read_text().splitlines()]
    assert [row["request_id"] for row in rows] == ids
    refused = [row for row in rows if row["replica"] == "-1"]
    assert refused
    assert all(not row["ttft"] for row in refused)
    for row in rows:
        buckets = [
            "served",
            "capacity",
            "replicas",
            "in_flight",
            "rounding",
            "isolation",
            "elsewhere",
            "first_seen",
        ]
        assert sum(int(row[bucket]) for bucket in buckets) == int(row["prompt_len"])


def test_token_logs_need_no_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"tokens": [1, 2, 3, *range(i, i + 20)], "output": [5, 6]}) for i in range(9)]
    (folder / "tokens.jsonl").write_text("\n".join(lines))
    found = study(capsys, log="tokens.jsonl")
    assert found["runs"][0]["served_tokens"] == 8 * 3
    assert main(["simulate", "tokens.jsonl", "--shuffle-sections"]) == 2
    assert "needs prompts as text" in capsys.readouterr().err
    assert main(["simulate", "tokens.jsonl", "--hosted", "deepseek", "--ttl", "60"]) == 2
    assert "timestamp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capacity", "0"], "at least 1"),
        (["--page", "0"], "at least 1"),
        (["--policy", "nonsense"], "Known: dfs-weight, fcfs, lof, lpm, random, shortest-prefill-first."),
        (["--engine", "nonsense"], "Known: none, sglang, sglang-0.5.8, trtllm, vllm."),
        (["--evict", "nonsense"], "Known: fifo, filo, lfu, lru, mru, priority, slru."),
        (["--evict", "lfu", "--engine", "vllm"], "vllm evicts lru only"),
        (["--replicas", "0"], "at least 1"),
        (["--replicas", "2", "--route", "nonsense"], "Known: cache-aware, logged, prefix-hash, random"),
        (["--route", "sticky"], "give --replicas 2 or more"),
        (["--num-gpu-blocks", "50"], "sglang takes --capacity TOKENS"),
        (["--engine", "vllm", "--num-gpu-blocks", "1"], "null block"),
        (["--engine", "vllm", "--num-gpu-blocks", "9", "--capacity", "9"], "give one of them"),
        (["--concurrency", "0"], "at least 1"),
        (["--speedup", "0"], "above 0"),
        (["--speedup", "2", "--concurrency", "3"], "does not follow"),
        (["--sampled", "1.5"], "at most 1"),
        (["--pin", "99", "--capacity", "50"], "leave nothing"),
        (["--host-ratio", "-1"], "0 (off) or above"),
        (["--hosted", "nonsense"], "Known: anthropic, bedrock, deepseek, gemini, openai."),
        (["--hosted", "openai", "--page", "16", "--policy", "lpm"], "--policy, --page"),
        (["--hosted", "openai", "--ttl", "eternity"], "Known: 24h, in_memory."),
        (["--hosted", "openai", "--ttl", "0"], "above 0"),
        (["--hosted", "openai", "--speedup", "-1"], "above 0"),
        (["--ttl", "60"], "give --hosted NAME"),
        (["--export", "x.txt"], "*.csv or *.parquet"),
        (["--export", "x.csv", "--policy", "fcfs", "--policy", "lpm"], "takes one run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", LOG, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.startswith("radixadvisor: ")
    assert shown.err.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_an_export_never_replaces_the_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "log.csv"
    log.write_text("id,prompt\n1,What is a prefix?\n2,What is a page?\n")
    content = log.read_bytes()
    assert main(["simulate", "log.csv", "--export", "log.csv"]) == 2
    assert "log.csv is the log itself: name another file" in capsys.readouterr().err
    assert log.read_bytes() == content


def test_an_impossible_output_length_counts_as_unknown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"timestamp": 0, "input_length": 600, "hash_ids": [1, 2]}
    trace = "".join(json.dumps(row | {"output_length": length}) + "\n" for length in (3, 10**12))
    (folder / "trace.jsonl").write_text(trace)
    call = {"model": "qwen2.5-7b", "messages": [{"role": "user", "content": "hi"}]}
    usage = {"usage": {"prompt_tokens": 5, "completion_tokens": 5_000_000_000}}
    (folder / "chat.jsonl").write_text(json.dumps(call | usage) + "\n")
    for log, requests in (("trace.jsonl", 2), ("chat.jsonl", 1)):
        assert study(capsys, log=log)["requests"] == requests
        assert main(["analyze", log, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["totals"]["output_tokens"] == (259 if requests == 2 else 256)
        assert any("256 tokens" in made["text"] for made in report["assumptions"])
