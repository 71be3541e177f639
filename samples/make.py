"""Make the sample logs: ``python samples/make.py`` writes them here, ``--check`` compares instead.

The logs are a function of the text in ``handbook.py`` and ``phrases.py`` and of the seeds below: no clock, no
hash order, integer milliseconds. Token counts come from the package itself, which must be installed.
``README.md`` lists what each log shows and the answer that is known for it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import traffic
from envelope import Call, Style, log_lines
from usage import usage

HERE = Path(__file__).resolve().parent

LOGS: dict[str, tuple[Callable[[], list[Call]], Style]] = {
    "rag-consistent.jsonl": (partial(traffic.rag, "desk", 100, traffic.consistent), Style()),
    "rag-shuffled.jsonl": (partial(traffic.rag, "desk", 100, traffic.shuffled), Style()),
    "rag-tools-last.jsonl": (partial(traffic.rag, "desk", 100, traffic.tools_last), Style()),
    "agent-tools.jsonl": (partial(traffic.agent, "agent", 22), Style("seconds", "message")),
    "long-system-chat.jsonl": (partial(traffic.chat, "chat", 20), Style("iso", "message")),
    "voice-preamble.jsonl": (partial(traffic.voice, "voice", 240), Style("ms", "text")),
    "one-shots.jsonl": (partial(traffic.one_shots, "notes", 90), Style("seconds", "text")),
    "unique-head.jsonl": (partial(traffic.unique_head, "mail", 80), Style("iso", "completion")),
    "mixed-apps.jsonl": (partial(traffic.mixed, "mixed"), Style("iso", "completion", usage=False)),
    "three.jsonl": (partial(traffic.voice, "three", 3), Style()),
}


def main(argv: list[str]) -> int:
    """Write every log, or with ``--check`` name those that differ; 1 if any does."""
    parser = argparse.ArgumentParser(description="Make the sample logs.")
    parser.add_argument("--check", action="store_true", help="compare with what is there, write nothing")
    parser.add_argument(
        "--out", type=Path, default=HERE, help="folder of the logs (default: beside this file)"
    )
    options = parser.parse_args(argv)
    differing = []
    for name, (make, style) in LOGS.items():
        path, content = options.out / name, log_lines(make(), style, usage)
        if not options.check:
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            differing.append(name)
    if differing:
        print(f"differs from what make.py generates: {', '.join(differing)}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
