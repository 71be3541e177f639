"""Habits of clients that each rule of tools and histories has to notice, and the healthy ones beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.diagnose.conversations import Turns, Writer, agent

Rows = list[dict[str, Any]]


def rotated(tools: Turns, turn: int) -> Turns:
    return tools[turn % 5 :] + tools[: turn % 5]


def rekeyed(tools: Turns, turn: int) -> Turns:
    return [dict(reversed(list(tool.items()))) for tool in tools] if turn % 2 else tools


def chosen(tools: Turns, turn: int) -> Turns:
    return [*tools[:3], tools[3 + turn % 5]] if turn % 2 else tools[:3]


def dated(tools: Turns, turn: int) -> Turns:
    tools[0]["function"]["description"] += f" {100 + turn} documents as of 2026-01-{turn + 1:02d}."
    return tools


def window(messages: Turns, turn: int) -> Turns:
    return messages[:2] + messages[2:][-8:]


def cleared(messages: Turns, turn: int) -> Turns:
    old = [index for index, message in enumerate(messages) if message["role"] == "tool"][:-4]
    return [
        message | {"content": "[cleared]"} if index in old else message
        for index, message in enumerate(messages)
    ]


def cut(messages: Turns, turn: int) -> Turns:
    return [
        message | {"content": message["content"][: 380 - 11 * (turn % 7)] + "... [truncated]"}
        if message["role"] == "tool"
        else message
        for message in messages
    ]


def unreasoned(messages: Turns, turn: int) -> Turns:
    """Drops reasoning in front of the last thing that the user said."""
    last = max(index for index, message in enumerate(messages) if message["role"] == "user")
    return [
        message | {"content": message["content"].split("</think>\n\n")[-1]}
        if index < last and message["role"] == "assistant"
        else message
        for index, message in enumerate(messages)
    ]


def line_ends(messages: Turns, turn: int) -> Turns:
    if turn % 2:
        messages[0]["content"] = messages[0]["content"].replace("\n", "\r\n")
    return messages


def reparsed(reply: dict[str, Any]) -> dict[str, Any]:
    function = reply["tool_calls"][0]["function"]
    function["arguments"] = json.dumps(dict(reversed(list(json.loads(function["arguments"]).items()))))
    return reply


def trimmed(reply: dict[str, Any]) -> dict[str, Any]:
    return reply | {"content": reply["content"].strip()}


def batched_window(messages: Turns, turn: int) -> Turns:
    gone = max(len(messages) - 12, 0) // 8 * 8
    return messages[:2] + messages[2 + gone :]


def summaries(turns: int = 8) -> Rows:
    """Chats that are summarised now and then, in a prompt of its own."""
    writer = Writer(3)
    rows: Rows = []
    for session in range(4):
        messages: Turns = [{"role": "system", "content": f"You are a clerk. {Writer(1).text(200)}"}]
        for turn in range(turns):
            messages.append({"role": "user", "content": writer.text(40)})
            reply = {"role": "assistant", "content": writer.text(60)}
            asked = [messages]
            if turn in (3, 7):
                told = "\n".join(
                    f"{message['role'].title()}: {message['content']}" for message in [*messages, reply][1:]
                )
                text = f"Conversation:\n{told}\n\nWrite the summary now."
                asked.append(
                    [
                        {"role": "system", "content": "Summarise in one line."},
                        {"role": "user", "content": text},
                    ]
                )
            for number, prompt in enumerate(asked):
                rows.append(
                    {
                        "request_id": f"req-{session}-{turn}-{number}",
                        "timestamp": 1767225600 + 20 * len(rows),
                        "model": "qwen2.5-7b-instruct",
                        "metadata": {"session_id": f"s{session}"},
                        "messages": [dict(message) for message in prompt],
                        "response": {"role": "assistant", "content": writer.text(9)} if number else reply,
                    }
                )
            messages.append(reply)
    return rows


def dropped() -> Rows:
    """A client that leaves the tools out where it wants an answer in words."""
    rows = agent()
    for number, row in enumerate(rows):
        if number % 4 == 3:
            del row["tools"]
    return rows


def summarised_window(messages: Turns, turn: int) -> Turns:
    """A window behind a summary that is written anew each turn: no message of it was rewritten in place."""
    if len(messages) <= 8:
        return messages
    summary = {"role": "user", "content": f"So far: {Writer(turn).text(40)}"}
    return [messages[0], summary, *messages[-6:]]


FAULTS: dict[str, Callable[[], Rows]] = {
    "RA201": lambda: agent(tools=rotated),
    "RA202": lambda: agent(tools=rekeyed),
    "RA203": lambda: agent(tools=chosen),
    "RA204": lambda: agent(tools=dated),
    "RA401": lambda: agent(24, history=window),
    "RA402": lambda: agent(24, history=cleared),
    "RA403": lambda: agent(history=cut),
    "RA404": lambda: agent(history=unreasoned, thinks=True),
    "RA405": lambda: agent(replayed=reparsed),
    "RA406": summaries,
    "RA407": lambda: agent(history=line_ends),
}
"""By rule a log that shows it."""

MORE_FAULTS: dict[str, tuple[str, Callable[[], Rows]]] = {"tools dropped": ("RA203", dropped)}
"""Further logs, with the rule that they show."""

HEALTHY: dict[str, Callable[[], Rows]] = {
    "append-only": agent,
    "append-only, no sessions": lambda: agent(named=False),
    "cut in batches": lambda: agent(24, history=batched_window),
    "reasoning kept": lambda: agent(thinks=True),
}
"""Logs without a fault in tools or histories."""
