"""What a server's cache holds of each prompt of a replay that begins with an empty cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixengine.tree import RadixTree

from radixadvisor.endpoint.identify import LLAMA, Engine
from radixadvisor.endpoint.slots import LlamaSlots
from radixadvisor.simulate.requests import TOKEN_BYTES

__all__ = ["Expected", "expected_hits"]


@dataclass(frozen=True, slots=True)
class Expected:
    """Tokens of one prompt: its length, what its engine serves by its rules, and what any cache that shares
    prefixes could serve at most.
    """

    prompt: int
    cached: int
    bound: int


def expected_hits(
    prompts: Sequence[bytes], namespaces: Sequence[str], engine: Engine, outputs: Sequence[int] | None = None
) -> list[Expected]:
    """Per prompt, in the order in which they are sent, one after the other.

    Engines with a tree or with blocks are taken with an unlimited pool; llama.cpp with its slots and host
    memory. Outputs are new tokens that no later prompt repeats: a server's own are not known beforehand.
    ``outputs`` are their lengths, which only llama.cpp's choice of a slot depends on.
    """
    tree = RadixTree()
    slots = LlamaSlots(engine.slots) if engine.name == LLAMA else None
    found = []
    for number, (prompt, namespace) in enumerate(zip(prompts, namespaces, strict=True)):
        length = len(prompt) // TOKEN_BYTES
        bound = min(tree.match_insert(prompt, namespace), length - 1)
        if slots is None:
            cached = bound - bound % engine.page
        else:
            made = outputs[number] if outputs is not None else 0
            # The last sampled token is never computed.
            cached = slots.serve(prompt, _fresh(number, max(made - 1, 0)))
        found.append(Expected(length, max(cached, 0), max(bound, 0)))
    return found


def _fresh(number: int, count: int) -> bytes:
    return (-1 - number).to_bytes(TOKEN_BYTES, "little", signed=True) * count
