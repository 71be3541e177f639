"""The columns of a log that a simulation reads: packed prompts and outputs, times and names."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from radixadvisor.errors import UsageError

__all__ = ["TOKEN_BYTES", "Requests"]

TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Requests:
    """A log as columns; every column is as long as ``prompts``. None: the log does not have it.

    Attributes:
        prompts: packed int32 tokens, or block numbers of ``unit`` tokens each. Read one at a time, so any
            lazy sequence will do.
        outputs: packed int32 tokens; empty where only the length is known.
        output_lengths: output tokens; the lengths of ``outputs`` if None.
        lengths: prompt tokens; needed where ``unit`` exceeds 1, since the last block may be partial.
        arrivals: seconds, any origin.
        latencies: seconds from arrival to the last token.
        sessions, replicas: numbers; equal ones belong together.
        keys: what the client gave to route by, such as a prompt_cache_key.
        texts: raw prompt text, for a router that does not see tokens.
        breakpoints: explicit cache breakpoints, ``(prompt tokens before it, seconds to live or None)``.
        blocks: prompt tokens before the end of each content block, ascending.
        features: what a request asks for that makes some engine look nothing up; None for nothing.
    """

    prompts: Sequence[bytes]
    outputs: Sequence[bytes] | None = None
    output_lengths: Sequence[int] | None = None
    lengths: Sequence[int] | None = None
    arrivals: Sequence[float] | None = None
    latencies: Sequence[float] | None = None
    namespaces: Sequence[str] | None = None
    priorities: Sequence[int] | None = None
    sessions: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    keys: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    models: Sequence[str] | None = None
    breakpoints: Sequence[Sequence[tuple[int, float | None]]] | None = None
    blocks: Sequence[Sequence[int]] | None = None
    features: Sequence[str | None] | None = None
    unit: int = 1

    def __post_init__(self) -> None:
        """Raises UsageError if a column has another length than ``prompts``."""
        for name in self.__slots__:
            column = getattr(self, name)
            if name != "unit" and column is not None and len(column) != len(self.prompts):
                raise UsageError(f"Column {name} has {len(column)} rows, prompts {len(self.prompts)}.")
        if self.unit > 1 and self.lengths is None:
            raise UsageError("A log of blocks needs the prompt lengths in tokens.")

    def __len__(self) -> int:
        """Requests."""
        return len(self.prompts)

    def length(self, index: int) -> int:
        """Prompt tokens of a request."""
        return self.lengths[index] if self.lengths is not None else len(self.prompts[index]) // TOKEN_BYTES

    def output_length(self, index: int) -> int:
        """Output tokens of a request."""
        if self.output_lengths is not None:
            return self.output_lengths[index]
        return len(self.outputs[index]) // TOKEN_BYTES if self.outputs is not None else 0

    def prompt(self, index: int) -> bytes:
        """Packed tokens of a prompt; a block becomes ``unit`` equal tokens."""
        packed = self.prompts[index]
        if self.unit == 1:
            return packed
        blocks = [packed[at : at + TOKEN_BYTES] * self.unit for at in range(0, len(packed), TOKEN_BYTES)]
        return b"".join(blocks)[: self.length(index) * TOKEN_BYTES]

    def output(self, index: int) -> bytes:
        """Packed output tokens. One that is not known consists of a token that no other request has."""
        known = self.outputs[index] if self.outputs is not None else b""
        missing = self.output_length(index) - len(known) // TOKEN_BYTES
        return known + array("i", [-1 - index]).tobytes() * missing if missing > 0 else known

    def namespace(self, index: int) -> str:
        """What splits the cache, the empty string if nothing does."""
        return self.namespaces[index] if self.namespaces is not None else ""

    def bypasses(self, index: int, features: Collection[str]) -> bool:
        """Whether a request asks for one of the features for which an engine looks nothing up."""
        return self.features is not None and self.features[index] in features

    def cached(self, index: int) -> bytes:
        """What a request can leave in a cache: prompt and known output, without the last output token."""
        known = self.outputs[index] if self.outputs is not None else b""
        return self.prompt(index) + known[:-TOKEN_BYTES]

    def order(self) -> list[int]:
        """Indices by arrival, ties in input order; input order without arrivals."""
        if self.arrivals is None:
            return list(range(len(self)))
        return sorted(range(len(self)), key=self.arrivals.__getitem__)

    def ordered(self) -> Iterator[tuple[int, bytes]]:
        """(index, packed prompt) by arrival."""
        return ((index, self.prompt(index)) for index in self.order())
