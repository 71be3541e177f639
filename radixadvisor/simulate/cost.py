"""Seconds for a batch, from a formula: what drives the scheduler's virtual clock."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from radixengine.executor import Batch, Outcome

from radixadvisor.errors import UsageError

__all__ = ["LinearCost"]


@dataclass(frozen=True, slots=True)
class LinearCost:
    """``step + prefill * new prompt tokens + decode * decoding sequences`` seconds per forward pass.

    The defaults are of the order of an 8B model on one H100; they are not measured, and a step is never
    free.

    Raises:
        UsageError: ``step`` is not above 0, or another coefficient is negative.
    """

    step: float = 0.006
    prefill: float = 0.00004
    decode: float = 0.00005

    def __post_init__(self) -> None:
        """Check the coefficients."""
        if not self.step > 0 or self.prefill < 0 or self.decode < 0:
            raise UsageError(
                "Costs are seconds: the cost of a step must be above 0, those of a prefill token and of a "
                f"decoding sequence at least 0 (given {self.step}, {self.prefill}, {self.decode})."
            )

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """Passes that begin less than ``seconds`` from now."""
        if seconds == inf:
            return batch.steps
        return max(1, min(batch.steps, ceil(seconds / self._pass(batch))))

    def run(self, batch: Batch) -> Outcome:
        """Seconds of all the batch's passes."""
        return Outcome(self._pass(batch) * batch.steps)

    def seconds(self, prefill: int, decoding: int) -> float:
        """One pass over so many new prompt tokens and decoding sequences."""
        return self.step + self.prefill * prefill + self.decode * decoding

    def _pass(self, batch: Batch) -> float:
        return self.seconds(sum(chunk.tokens for chunk in batch.prefill), len(batch.decode))
