"""What an edit does, in a line for the people who will change the client's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from radixadvisor.records import EditSpec

__all__ = ["WORDS", "words_of"]

_TARGETS = {
    "tail": "the end of the last user turn",
    "first": "the end of the first user turn",
    "end": "the end of its message",
}


def _block(parameters: Mapping[str, str]) -> str:
    label = parameters.get("label", "")
    zone = "system message" if parameters["zone"].startswith("head:") else f"{parameters['zone']} user turn"
    return f"{label!r} in the {zone}" if label else f"what varies in the {zone}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)


def _heads(parameters: Mapping[str, str]) -> str:
    heads: list[str] = json.loads(parameters["heads"])
    return "; ".join(" ".join(head.split())[:40] for head in heads)


def _zone(parameters: Mapping[str, str]) -> str:
    return "the system message" if parameters["zone"].startswith("head:") else "the user turn"


def _sections(parameters: Mapping[str, str]) -> str:
    """The names of sections, those that a text gives as they stand there."""
    told = {"text": "the text beside them", "{definitions}": "the tools' definitions", "{json}": "the JSON"}
    names: list[str] = json.loads(parameters["order"])
    return "; ".join(told.get(name, name[:40]) for name in names)


WORDS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "canonical_tools": lambda of: "Write tool definitions with sorted keys",
    "cut_once": lambda of: "Cut each message once, at one length",
    "drop_block": lambda of: f"Leave out {_block(of)}",
    "even_whitespace": lambda of: "Send each text in one form of whitespace and letters",
    "freeze_tools": lambda of: f"Keep the definition of {_names(json.loads(of['frozen']))} as it first was",
    "full_catalogue": lambda of: f"Send all {len(json.loads(of['catalogue']))} tools in every request",
    "keep_reasoning": lambda of: "Keep the reasoning of earlier turns",
    "move_block": lambda of: f"Move {_block(of)} to {_TARGETS[of['to']]}",
    "order_sections": lambda of: f"Write the sections of {_zone(of)} in this order: {_sections(of)}",
    "pin_block": lambda of: f"Give {_block(of)} the same text in every request",
    "pin_front": lambda of: f"Put the block that begins {of['block'][:40]!r} in front of the first user turn",
    "pin_message": lambda of: (
        f"Send the message that begins {of['text'][:40]!r} once, behind the system message"
    ),
    "reorder_blocks": lambda of: f"Write the sections in one order: {_heads(of)}",
    "replay_prefix": lambda of: "Send side calls behind the conversation's prompt, not a transcript",
    "replay_verbatim": lambda of: "Send replies back byte for byte",
    "rewrite_in_batches": lambda of: f"Replace old messages {of['batch']} at a time",
    "sort_items": lambda of: f"Order the items of {_block(of)} by name or number",
    "sort_tools": lambda of: "Sort tools by name",
    "trim_in_batches": lambda of: f"Cut the history {of['step']} messages at a time, not every turn",
}


def words_of(spec: EditSpec) -> str:
    """The line for one edit."""
    return WORDS[spec.kind](dict(spec.parameters))
