"""The sample logs: made by their generator byte for byte, and what each of them is known to show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from bisect import bisect
from collections.abc import Sequence
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOGS = sorted(SAMPLES.glob("*.jsonl"))


def make(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SAMPLES / "make.py"), *arguments],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_committed_logs_are_what_the_generator_makes(tmp_path: Path, hash_seed: str) -> None:
    assert make("--out", str(tmp_path), hash_seed=hash_seed).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in LOGS]
    for path in LOGS:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_check_names_the_log_that_differs(tmp_path: Path) -> None:
    make("--out", str(tmp_path))
    assert make("--check", "--out", str(tmp_path)).returncode == 0
    with (tmp_path / "three.jsonl").open("a") as log:
        log.write("\n")
    (tmp_path / "voice-preamble.jsonl").unlink()
    result = make("--check", "--out", str(tmp_path))
    assert result.returncode == 1
    assert "three.jsonl" in result.stderr
    assert "voice-preamble.jsonl" in result.stderr
    assert "rag-" not in result.stderr


def prompt(line: dict) -> str:
    parts = [json.dumps(line.get("tools", []))]
    parts += [json.dumps(message) for message in line["messages"]]
    return "\n".join(parts)


def common_prefix(left: Sequence, right: Sequence) -> int:
    """The length of the longest common prefix, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle - 1)
    return low


def unlimited_rate(prompts: list) -> float:
    """Hits are the longest common prefix with any earlier prompt; its neighbours in sorted order suffice."""
    hits = 0
    seen: list = []
    for sequence in prompts:
        place = bisect(seen, sequence)
        near = seen[max(0, place - 1) : place + 1]
        hits += max((common_prefix(sequence, other) for other in near), default=0)
        seen.insert(place, sequence)
    return hits / sum(map(len, prompts))


def rate(name: str) -> float:
    lines = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    return unlimited_rate([prompt(line) for line in lines])


def test_order_of_the_sections_decides_the_hit_rate() -> None:
    consistent, shuffled = rate("rag-consistent.jsonl"), rate("rag-shuffled.jsonl")
    assert consistent > 0.85
    assert shuffled < consistent / 3
    assert rate("rag-tools-last.jsonl") < consistent - 0.1


def test_unique_content_leaves_nothing_to_hit() -> None:
    assert rate("unique-head.jsonl") < 0.05
    assert rate("one-shots.jsonl") < 0.05
