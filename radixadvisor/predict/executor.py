"""A cost as the executor of the engines' scheduler: batches in, seconds of a virtual clock out."""

from __future__ import annotations

from collections.abc import Sequence as Values
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

from radixengine.executor import Batch, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["CostExecutor", "Seconds"]


class Seconds(Protocol):
    """A cost of forward passes, computed or measured."""

    def pass_seconds(
        self, new: Values[int], cached: Values[int], logits: int, contexts: Values[int] = ()
    ) -> float:
        """One pass: chunks of ``new`` tokens behind ``cached`` ones, ``logits`` of which give a token, and
        sequences that decode one token each, which then is the last of ``contexts`` tokens.
        """

    def prefill_each(self, new: Counts, cached: Counts, group: int = 1) -> Floats:
        """Each pass over prompts, so many neighbours in a pass."""

    def decode_passes(self, contexts: Values[int], passes: int) -> Floats:
        """Each of so many passes in a row over the same sequences, whose contexts grow by one per pass."""


@dataclass(frozen=True, slots=True)
class CostExecutor:
    """Takes from the scheduler's batches what a cost needs."""

    cost: Seconds

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """Passes that begin less than ``seconds`` from now."""
        if seconds == inf or batch.steps == 1:
            return batch.steps
        ends = self.cost.decode_passes([seq.computed + 1 for seq in batch.decode], batch.steps).cumsum()
        return max(1, min(batch.steps, int(ends.searchsorted(seconds)) + 1))

    def run(self, batch: Batch) -> Outcome:
        """Seconds of all the batch's passes. Slots are taken before: a sequence's tokens include those
        of every pass.
        """
        if not batch.prefill and batch.steps > 1:
            contexts = [seq.computed - batch.steps + 1 for seq in batch.decode]
            return Outcome(float(self.cost.decode_passes(contexts, batch.steps).sum()))
        return Outcome(
            self.cost.pass_seconds(
                [chunk.tokens for chunk in batch.prefill],
                [chunk.start for chunk in batch.prefill],
                sum([chunk.last for chunk in batch.prefill]),
                [seq.computed for seq in batch.decode],
            )
        )
