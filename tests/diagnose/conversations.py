"""Logs of a tool agent, made to order: each with one habit of its client."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.trace import Trace

WORDS = (
    *("parcel", "town", "weight", "clerk", "counter", "ledger", "invoice", "refund", "train", "ticket"),
    *("harbor", "bridge", "copper", "lantern", "garden", "window", "river", "market", "pencil", "saddle"),
)
Turns = list[dict[str, Any]]


class Writer:
    """Sentences that are the same for the same seed."""

    def __init__(self, seed: int = 5) -> None:
        self._random = random.Random(seed)

    def text(self, words: int) -> str:
        return " ".join(self._random.choice(WORDS) for _ in range(words))

    def tool(self, name: str) -> dict[str, Any]:
        properties = {key: {"type": "string", "description": self.text(12)} for key in ("a", "b", "c")}
        schema = {"type": "object", "properties": properties, "required": ["a", "b", "c"]}
        return {
            "type": "function",
            "function": {"name": name, "description": self.text(30), "parameters": schema},
        }


def agent(
    turns: int = 12,
    *,
    sessions: int = 2,
    history: Callable[[Turns, int], Turns] = lambda messages, turn: messages,
    tools: Callable[[Turns, int], Turns] = lambda tools, turn: tools,
    replayed: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply,
    thinks: bool = False,
    named: bool = True,
) -> list[dict[str, Any]]:
    """Requests of a tool agent. ``history``, ``tools`` and ``replayed`` are its client's habits: what it
    makes of the history, of the tool list, and of a reply that it sends back.
    """
    writer = Writer()
    system = "You are the clerk of a small harbor office. " + "\n".join(
        f"{number}. {writer.text(14)}." for number in range(40)
    )
    catalogue = [writer.tool(f"{word}_{number}") for number, word in enumerate(WORDS[:8])]
    rows = []
    for session in range(sessions):
        messages: Turns = [
            {"role": "system", "content": system},
            {"role": "user", "content": writer.text(30)},
        ]
        for turn in range(turns):
            call = {
                "id": f"call_{session}_{turn}",
                "type": "function",
                "function": {
                    "name": catalogue[turn % 8]["function"]["name"],
                    "arguments": json.dumps({key: writer.text(4) for key in "abc"}),
                },
            }
            thought = f"<think>\n{writer.text(25)}\n</think>\n\n" if thinks else ""
            reply = {"role": "assistant", "content": thought + "Well. ", "tool_calls": [call]}
            row = {
                "request_id": f"req-{session}-{turn}",
                "timestamp": 1767225600 + 20 * len(rows),
                "model": "qwen2.5-7b-instruct",
                "messages": history([dict(message) for message in messages], turn),
                "tools": tools(json.loads(json.dumps(catalogue)), turn),
                "response": reply,
            }
            rows.append(row | ({"metadata": {"session_id": f"s{session}"}} if named else {}))
            result = {"role": "tool", "tool_call_id": call["id"], "content": writer.text(60)}
            messages = [*messages, replayed(json.loads(json.dumps(reply))), result]
            if thinks and turn % 3 == 2:
                messages.append({"role": "user", "content": writer.text(12)})
    return rows


def opened(rows: list[dict[str, Any]], folder: Path) -> Trace:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_trace([str(path)], AnalyzeOptions())[0]
