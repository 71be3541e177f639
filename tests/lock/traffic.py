"""Traffic of made-up applications: the same templates for the same seed, other conversations for another."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.diagnose.conversations import Writer

Row = dict[str, Any]


@dataclass
class Template:
    """An application's own part of its prompts: sections of lines, and tools."""

    sections: list[list[str]]
    tools: list[Row] = field(default_factory=list)
    preamble: str = ""

    @property
    def system(self) -> str:
        return "\n\n".join("\n".join(lines) for lines in self.sections)


def template(seed: int, *, sections: int = 5, lines: int = 5, tools: int = 0, preamble: int = 0) -> Template:
    writer = Writer(seed)
    parts = [
        [f"## Part {number} of {seed}", *(f"- {writer.text(9)}." for _ in range(lines))]
        for number in range(sections)
    ]
    return Template(
        parts,
        [writer.tool(f"tool_{seed}_{number}") for number in range(tools)],
        "".join(f"Rule {number}: {writer.text(10)}.\n" for number in range(preamble)),
    )


def traffic(
    made: Template,
    seed: int,
    *,
    conversations: int = 10,
    turns: int = 2,
    app: str | None = None,
    model: str = "qwen2.5-7b-instruct",
    system: Callable[[random.Random], str] | None = None,
    named: bool = True,
) -> list[Row]:
    """Requests of an application. ``system`` writes the system prompt of each request, else it is the
    template's.
    """
    rng, writer = random.Random(seed), Writer(seed + 1000)
    rows = []
    for number in range(conversations):
        question = made.preamble + writer.text(rng.randint(5, 15))
        history: list[Row] = [{"role": "user", "content": question}]
        for turn in range(turns):
            text = made.system if system is None else system(rng)
            head = [{"role": "system", "content": text}] if text else []
            row: Row = {
                "request_id": f"{seed}-{number}-{turn}",
                "model": model,
                "messages": [*head, *history],
            }
            if made.tools:
                row["tools"] = made.tools
            meta = {"session_id": f"s{seed}-{number}"} if named else {}
            if app:
                meta["app"] = app
            if meta:
                row["metadata"] = meta
            rows.append(row)
            history = [
                *history,
                {"role": "assistant", "content": writer.text(12)},
                {"role": "user", "content": writer.text(8)},
            ]
    return rows


def written(path: Path, *parts: Sequence[Row]) -> Path:
    """The rows of some applications, taking turns, as a log."""
    longest = max(map(len, parts))
    rows = [part[number] for number in range(longest) for part in parts if number < len(part)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
