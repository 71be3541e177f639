"""What a server's cache holds of each prompt of a replay that begins with an empty cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixengine.tree import RadixTree

from radixadvisor.endpoint.identify import LLAMA, Engine
from radixadvisor.endpoint.slots import LlamaSlots
from radixadvisor.simulate.requests import TOKEN_BYTES

__all__ = ["Expected", "Prompt", "expected_hits", "shared_tokens"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it was sent: packed int32 tokens, what splits the cache, and how many output tokens it
    was answered with.
    """

    tokens: bytes
    namespace: str = ""
    output: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """Tokens of one prompt: its length; how much of its beginning was sent before (``shared``); of that what
    any cache may serve that computes the last token (``bound``); and what its engine serves by its rules.
    """

    prompt: int
    shared: int
    bound: int
    cached: int


def shared_tokens(prompts: Sequence[Prompt]) -> list[int]:
    """How much of the beginning of each prompt an earlier one has."""
    tree = RadixTree()
    return [tree.match_insert(prompt.tokens, prompt.namespace) for prompt in prompts]


def expected_hits(prompts: Sequence[Prompt], engine: Engine) -> list[Expected]:
    """Per prompt, in the order in which they are sent, one after the other.

    Engines with a tree or with blocks are taken with an unlimited pool; llama.cpp with its slots and host
    memory. Outputs are new tokens that no later prompt repeats: a server's own are not known beforehand.
    """
    slots = LlamaSlots(engine.slots) if engine.name == LLAMA else None
    found = []
    for number, (prompt, shared) in enumerate(zip(prompts, shared_tokens(prompts), strict=True)):
        length = len(prompt.tokens) // TOKEN_BYTES
        bound = max(min(shared, length - 1), 0)
        if slots is None:
            cached = bound - bound % engine.page
        else:
            # The last sampled token is never computed.
            cached = slots.serve(prompt.tokens, _fresh(number, max(prompt.output - 1, 0)))
        found.append(Expected(length, shared, bound, cached))
    return found


def _fresh(number: int, count: int) -> bytes:
    return (-1 - number).to_bytes(TOKEN_BYTES, "little", signed=True) * count
