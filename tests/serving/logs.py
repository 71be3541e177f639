"""Logs whose text is innocent: each loses tokens to one thing that serving does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.diagnose.healthy import Writer, said

Row = dict[str, Any]
MARK = {"type": "ephemeral"}


def save(path: Path, rows: list[Row]) -> Path:
    """Write rows in order of arrival; the path given."""
    rows.sort(key=lambda row: float(row["timestamp"]))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sent(number: int, at: float, messages: list[Row], answer: Row, **fields: Any) -> Row:
    """One logged request, ``at`` seconds after the start."""
    return {
        "request_id": f"r-{number:04d}",
        "timestamp": 1_777_000_000 + at,
        "latency_ms": 800,
        "model": "qwen2.5-7b-instruct",
        "messages": [dict(message) for message in messages],
        "response": answer,
        **fields,
    }


def chats(
    seed: int,
    *,
    sessions: int = 5,
    turns: int = 6,
    lines: int = 40,
    gap: Callable[[int, int], float] = lambda session, turn: 20.0,
    fields: Callable[[int, int, int], Row] = lambda number, session, turn: {},
    systems: int = 1,
) -> list[Row]:
    """Conversations behind ``systems`` system prompts, interleaved.

    ``gap`` gives the seconds before a turn, ``fields`` what else a request carries, by its number, session
    and turn.
    """
    writer = Writer(seed)
    manuals = [f"You are clerk {number}.\n{writer.manual(lines)}" for number in range(systems)]
    rows: list[Row] = []
    clocks = [3.0 * session for session in range(sessions)]
    histories = [[said("system", manuals[session % systems])] for session in range(sessions)]
    number = 0
    for turn in range(turns):
        for session in range(sessions):
            clocks[session] += gap(session, turn)
            history = histories[session]
            history.append(said("user", f"{writer.rng.randrange(10**6)}: {writer.prose(2)}"))
            answer = said("assistant", writer.prose(3))
            extra = fields(number, session, turn)
            metadata = {"session_id": f"s{session}"} | extra.pop("metadata", {})
            rows.append(sent(number, clocks[session], history, answer, metadata=metadata, **extra))
            history.append(answer)
            number += 1
    return rows


def singles(
    seed: int, count: int = 30, lines: int = 40, words: int = 1, every: float = 5.0, **fields: Any
) -> list[Row]:
    """Requests on their own behind one system prompt."""
    writer = Writer(seed)
    manual = f"You label notes.\n{writer.manual(lines)}"
    rows = []
    for number in range(count):
        messages = [said("system", manual), said("user", f"{number} {writer.prose(words)}")]
        rows.append(sent(number, every * number, messages, said("assistant", "ok"), **fields))
    return rows


def marked(rows: list[Row], places: Callable[[list[Row]], list[int]], ttl: str | None = None) -> list[Row]:
    """Rows as sent to Claude, with breakpoints at the messages that ``places`` names."""
    mark = MARK if ttl is None else MARK | {"ttl": ttl}
    for row in rows:
        row["model"] = "claude-sonnet-4-5"
        chosen = {place % len(row["messages"]) for place in places(row["messages"])}
        for place, message in enumerate(row["messages"]):
            part: Row = {"type": "text", "text": message["content"]}
            if place in chosen:
                part["cache_control"] = mark
            message["content"] = [part]
    return rows


def reporting(rows: list[Row], cached: Callable[[int, Row], int], prompt: Callable[[Row], int]) -> list[Row]:
    """Rows with the usage that a server reports."""
    for number, row in enumerate(sorted(rows, key=lambda row: float(row["timestamp"]))):
        row["usage"] = {
            "prompt_tokens": prompt(row),
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": cached(number, row)},
        }
    return rows
