"""Runs batches on the model: the executor whose tokens and seconds are real."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import ceil, inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from radixengine.attention.base import Attention, Extend, Layout
from radixengine.cache import TOKEN_BYTES, Sequence
from radixengine.executor import Batch, Outcome
from radixengine.memory import HostMemory, KVMemory
from radixengine.model import Decoder
from radixengine.slots import Slots

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


class Ran(NamedTuple):
    """One batch as it was run.

    ``sampled`` are the rids that got tokens, in the order of the rows of ``tokens`` and ``gaps``
    [passes, rows]. ``inside``: seconds of the passes alone.
    """

    sampled: tuple[int, ...]
    tokens: NDArray[Any]
    gaps: NDArray[Any]
    inside: float


class TorchExecutor:
    """Greedy decoding over the slots that the scheduler's cache has assigned.

    A batch takes the seconds since the batch before it ended (or ``tick``), the scheduler's work between
    them included. At most ``ahead`` decode passes are run in a row.
    """

    def __init__(
        self,
        model: Decoder,
        memory: KVMemory,
        slots: Slots,
        attention: Attention,
        host: HostMemory | None,
        ahead: int,
    ) -> None:
        self._model = model
        self._memory = memory
        self._slots = slots
        self._attention = attention
        self._host = host
        self._ahead = ahead
        self._pass_seconds = inf
        self._since = perf_counter()
        self.last: Ran | None = None

    def tick(self) -> None:
        """The next batch's time begins now."""
        self._since = perf_counter()

    def lookahead(self, batch: Batch, seconds: float) -> int:
        """As many passes as fit, judging by the last one."""
        passes = min(batch.steps, self._ahead)
        if seconds == inf:
            return passes
        return max(1, min(passes, ceil(seconds / self._pass_seconds)))

    def run(self, batch: Batch) -> Outcome:
        """Run all passes; every last chunk and every decoding sequence samples a token per pass."""
        begin = perf_counter()
        sampled = (*(chunk.seq.rid for chunk in batch.prefill if chunk.last), *(s.rid for s in batch.decode))
        with torch.inference_mode():
            if self._host is not None:
                self._host.fence()
            picked = list(self._passes(batch))
            tokens = torch.stack([token for token, _ in picked]).cpu().numpy().astype(np.int32)
            gaps = torch.stack([gap for _, gap in picked]).cpu().numpy()
        end = perf_counter()
        if not batch.prefill:
            self._pass_seconds = (end - begin) / batch.steps
        self.last = Ran(sampled, tokens, gaps, end - begin)
        seconds, self._since = end - self._since, end
        new = {rid: tokens[:, column].tobytes() for column, rid in enumerate(sampled)}
        return Outcome(seconds, new)

    def _passes(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        """(tokens, gaps) of each pass, on the device: passes after the first need nothing from the host."""
        memory = self._memory
        extends, slots, positions = [], [], []
        tokens = [
            np.frombuffer(chunk.seq.prompt, np.int32, chunk.tokens, chunk.start * TOKEN_BYTES)
            for chunk in batch.prefill
        ]
        for chunk in batch.prefill:
            row = self._slots(chunk.seq, 0, chunk.start + chunk.tokens)
            extends.append(Extend(chunk.tokens, row[: chunk.start]))
            slots.append(row[chunk.start :])
            positions.append(np.arange(chunk.start, chunk.start + chunk.tokens))
        starts = np.array([_first_new(seq, batch.steps) for seq in batch.decode], dtype=np.int64)
        rows = [self._slots(seq, 0, seq.computed) for seq in batch.decode]
        tokens += [
            np.frombuffer(seq.output, np.int32, 1, len(seq.output) - TOKEN_BYTES) for seq in batch.decode
        ]
        ends = list(accumulate(chunk.tokens for chunk in batch.prefill))
        last = [end - 1 for end, chunk in zip(ends, batch.prefill, strict=True) if chunk.last]
        extended = ends[-1] if ends else 0
        wanted = memory.index(np.array([*last, *range(extended, extended + len(rows))]))
        given = memory.index(np.concatenate(tokens))
        for step in range(batch.steps):
            decodes = tuple(row[: start + step + 1] for row, start in zip(rows, starts.tolist(), strict=True))
            layout = Layout(
                tuple(extends), decodes, np.concatenate([*slots, *(slots_[-1:] for slots_ in decodes)])
            )
            logits = self._model.forward(
                given,
                memory.index(np.concatenate([*positions, starts + step])),
                memory.index(layout.slots),
                memory,
                self._attention,
                self._attention.plan(layout),
                wanted,
            ).float()
            given = logits.argmax(-1)
            top = logits.topk(2, -1).values
            yield given, top[:, 0] - top[:, 1]


def _first_new(seq: Sequence, steps: int) -> int:
    """The position whose KV the first of ``steps`` passes computes: that of the last sampled token."""
    at = seq.prompt_len + seq.output_len - 1
    if at != seq.computed - steps:
        raise RuntimeError(f"request {seq.rid}: {steps} passes from position {at}, {seq.computed} have slots")
    return at
