"""What an edit does, in a line for the people who will change the client's code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


WORDS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "drop_block": lambda of: f"Leave out {_block(of)}",
    "move_block": lambda of: f"Move {_block(of)} to {_TARGETS[of['to']]}",
}


def words_of(spec: EditSpec) -> str:
    """The line for one edit."""
    return WORDS[spec.kind](dict(spec.parameters))
