"""What ``radixadvisor analyze`` costs on a large log: ``python -m tests.benchmarks.analyze``.

The measurement alone (``--no-advice``) is set against the floor under it, the whole run stands beside it.

The floor is what no analyzer can avoid: parse every line as JSON, tokenize each distinct text once. It stands
there twice: with the fastest calls that exist, and with those that most would write, ``json.loads`` and
tiktoken over the same vocabulary. Every figure is CPU seconds of a process of its own, all in one run, so
that their ratios mean something on a noisy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SHARED = Path(os.environ.get("RADIXADVISOR_SHARED", Path(__file__).resolve().parents[3] / "shared"))

FLOOR = """
import sys, msgspec
from radixadvisor.tokens.engine import choose
texts = {}
decode = msgspec.json.Decoder().decode
for line in open(sys.argv[1], "rb"):
    row = decode(line)
    for message in row["messages"]:
        texts[message["content"]] = None
    for tool in row.get("tools", ()):
        texts[msgspec.json.encode(tool).decode()] = None
    texts[row["response"]["choices"][0]["message"]["content"]] = None
encode = choose("gpt-4o").tokenizer.encode
print(sum(len(encode(text)) // 4 for text in texts))
"""

PLAIN = """
import sys, json
from radixadvisor.tokens.engine import choose
from radixadvisor.tokens.reference import independent_encoder
encode = independent_encoder(choose("gpt-4o").tokenizer)
texts = {}
for line in open(sys.argv[1], "rb"):
    row = json.loads(line)
    for message in row["messages"]:
        texts[message["content"]] = None
    for tool in row.get("tools", ()):
        texts[json.dumps(tool)] = None
    texts[row["response"]["choices"][0]["message"]["content"]] = None
print(sum(len(encode(text)) // 4 for text in texts))
"""

WHOLE = """
import sys
from radixadvisor.ingest import read_log
from radixadvisor.tokens.engine import choose, encode_prompt_text
choice = choose("gpt-4o")
total = 0
for request in read_log(sys.argv[1]):
    groups = choice.renderer.groups(request)
    text = "".join(piece.text for group in groups for piece in choice.renderer.pieces(request, group))
    total += len(encode_prompt_text(choice.tokenizer, text)) // 4
print(total)
"""


class Cost(NamedTuple):
    """CPU seconds and peak resident MiB of one process, and what it printed."""

    cpu: float
    mib: float
    printed: str


def cost(*command: str) -> Cost:
    """Run a Python command in a process of its own."""
    wrapper = (
        "import resource, subprocess, sys, json\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.stdout.decode()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", wrapper, sys.executable, *command], stdout=subprocess.PIPE, check=True
    )
    return Cost(*json.loads(done.stdout))


def make_log(requests: int, words: int, folder: Path) -> Path:
    """The benchmark log of the reference folder."""
    subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            str(SHARED / "bench" / "make_log.py"),
            str(requests),
            str(words),
            "log",
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    (folder / "log.csv").unlink()
    return (folder / "log.jsonl").rename(folder / f"log-{requests}.jsonl")


def analyze(log: Path, folder: Path, *options: str) -> tuple[Cost, int]:
    """Cost of a whole run, and the prompt tokens it counted."""
    found = cost("-m", "radixadvisor", "analyze", str(log), "--out", str(folder), "--quiet", *options)
    return found, json.loads((folder / "report.json").read_text())["totals"]["prompt_tokens"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=640)
    parser.add_argument("--growth", action="store_true", help="5,000 to 80,000 requests instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.growth:
            growth(options.words, folder)
            return
        log = make_log(options.requests, options.words, folder)
        floor = cost("-c", FLOOR, str(log))
        found, tokens = analyze(log, folder, "--no-advice")
        advised, _ = analyze(log, folder)
        whole = cost("-c", WHOLE, str(log))
        again = cost("-c", FLOOR, str(log))
        plain = cost("-c", PLAIN, str(log))
    mean = (floor.cpu + again.cpu) / 2
    print(f"{options.requests} requests, {tokens:,} prompt tokens, {found.mib:.0f} MiB peak")
    print(f"measurement        {found.cpu:6.2f} s CPU  {tokens / found.cpu / 1e6:5.1f} M tokens/s")
    print(f"with advice        {advised.cpu:6.2f} s CPU  {advised.mib:5.0f} MiB peak")
    print(f"floor              {mean:6.2f} s CPU  measurement / floor = {found.cpu / mean:.2f}")
    print(
        f"plain floor        {plain.cpu:6.2f} s CPU  measurement / plain floor = {found.cpu / plain.cpu:.2f}"
    )
    print(f"whole prompts      {whole.cpu:6.2f} s CPU  whole / measurement = {whole.cpu / found.cpu:.2f}")


def growth(words: int, folder: Path) -> None:
    """CPU and memory from 5,000 to 80,000 requests, four times more at each step."""
    before: Cost | None = None
    for requests in (5_000, 20_000, 80_000):
        log = make_log(requests, words, folder)
        found, tokens = analyze(log, folder, "--no-advice")
        log.unlink()
        factor = (
            ""
            if before is None
            else f"  x{found.cpu / before.cpu:.2f} CPU, x{found.mib / before.mib:.2f} memory"
        )
        print(
            f"{requests:6d} requests {tokens:12,} tokens {found.cpu:6.2f} s CPU {found.mib:5.0f} MiB{factor}"
        )
        before = found


if __name__ == "__main__":
    main()
