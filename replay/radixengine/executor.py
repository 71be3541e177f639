"""What the scheduler asks of whatever runs a batch: a model on a device, or a cost function on a virtual
clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from radixengine.cache import Sequence


class Chunk(NamedTuple):
    """Prompt tokens ``[start, start + tokens)`` of a sequence to compute; ``last`` if its first token
    follows.
    """

    seq: Sequence
    start: int
    tokens: int
    last: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """One forward pass: chunks to prefill and sequences to decode one token each.

    ``steps`` above 1 stands for that many passes in a row over the same ``decode`` (and no prefill); each
    sequence then attends to one token more per pass. The slots of every pass are taken before
    ``Executor.run``.
    """

    prefill: tuple[Chunk, ...] = ()
    decode: tuple[Sequence, ...] = ()
    steps: int = 1


class Outcome(NamedTuple):
    """What a batch took and gave.

    ``tokens`` maps a request to the packed int32 tokens sampled for it, None when outputs are known
    beforehand; ``ended`` names the requests that sampled a stop token.
    """

    seconds: float
    tokens: Mapping[int, bytes] | None = None
    ended: frozenset[int] = frozenset()


class Executor(Protocol):
    """Runs batches."""

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """How many of the batch's decode passes begin less than ``seconds`` from now: at least 1, at most
        ``batch.steps``. An executor that cannot run several passes at once answers 1.
        """

    def run(self, batch: Batch) -> Outcome:
        """Run the batch, all its passes, and say how long it took (seconds above 0)."""
