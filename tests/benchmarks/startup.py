"""``python -m tests.benchmarks.startup``: CPU of ``radixadvisor --help`` against a bare typer + rich app.

Both run alternately in fresh interpreters; the smallest of their user + system seconds is compared, since
anything above it is the machine's noise. Exit 1 if the ratio is above 1.3.
"""

from __future__ import annotations

import resource
import subprocess
import sys

BARE = """
import typer
from rich.console import Console

app = typer.Typer(add_completion=False)

@app.callback()
def main() -> None:
    "A bare app."

@app.command()
def run(name: str = "x") -> None:
    "Do it."
    Console().print(name)

app(["--help"])
"""
ROUNDS = 15
LIMIT = 1.3


def cpu_seconds(arguments: list[str]) -> float:
    """User + system seconds of one fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print one line, and judge."""
    bare, ours = [], []
    for _ in range(ROUNDS):
        bare.append(cpu_seconds(["-c", BARE]))
        ours.append(cpu_seconds(["-m", "radixadvisor", "--help"]))
    ratio = min(ours) / min(bare)
    print(
        f"radixadvisor --help {min(ours):.3f} s CPU, bare typer + rich app {min(bare):.3f} s: "
        f"ratio {ratio:.2f} (at most {LIMIT}), least of {ROUNDS} runs each"
    )
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
