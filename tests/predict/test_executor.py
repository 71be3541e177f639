"""What the schedulers of all engines hand to a cost: every token once, contexts as they are."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from radixadvisor.catalog import gpu, model
from radixadvisor.predict.executor import CostExecutor
from radixadvisor.predict.roofline import Roofline
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate


class Recorder:
    """A roofline that notes what it is asked for by ``run``."""

    def __init__(self) -> None:
        self.inner = Roofline.of(model("llama-3.1-8b"), gpu("h100-sxm"))
        self.chunks: list[tuple[int, int]] = []
        self.logits = 0
        self.contexts: Counter[int] = Counter()
        self.asked = 0

    def pass_seconds(
        self, new: Sequence[int], cached: Sequence[int], logits: int, contexts: Sequence[int] = ()
    ) -> float:
        self.chunks += zip(new, cached, strict=True)
        self.logits += logits
        self.contexts.update(contexts)
        return self.inner.pass_seconds(new, cached, logits, contexts)

    def prefill_each(
        self, new: NDArray[np.int64], cached: NDArray[np.int64], group: int = 1
    ) -> NDArray[np.float64]:
        return self.inner.prefill_each(new, cached, group)

    def decode_passes(self, contexts: Sequence[int], passes: int) -> NDArray[np.float64]:
        self.contexts.update(size + step for size in contexts for step in range(passes))
        return self.inner.decode_passes(contexts, passes)


def workload(count: int = 60) -> Requests:
    rng = np.random.default_rng(4)
    heads = [rng.integers(0, 500, 700).astype(np.int32) for _ in range(3)]
    prompts, outputs = [], []
    for number in range(count):
        tail = rng.integers(500, 900, int(rng.integers(20, 3000))).astype(np.int32)
        prompts.append(np.concatenate([heads[number % 3], tail]).tobytes())
        outputs.append(array("i", [2000 + number] * int(rng.integers(1, 60))).tobytes())
    arrivals = np.cumsum(rng.exponential(0.02, count)).tolist()
    return Requests(prompts=prompts, outputs=outputs, arrivals=arrivals)


@pytest.mark.parametrize("name", ["none", "vllm", "sglang"])
def test_every_token_is_timed_once_with_its_true_context(name: str) -> None:
    requests = workload()
    # All at once, so that no lookahead asks for passes that are then not run.
    recorder = Recorder()
    result = simulate(requests, engine(name), Options(concurrency=len(requests), cost=CostExecutor(recorder)))
    assert not result.refused.any() and not result.retractions.any()
    assert sum(new for new, _ in recorder.chunks) == int(result.computed_tokens.sum())
    assert recorder.logits == len(requests)
    expected: Counter[int] = Counter()
    for index in range(len(requests)):
        first = requests.length(index) + 1
        expected.update(range(first, first + requests.output_length(index) - 1))
    assert recorder.contexts == expected


def test_lookahead_counts_the_passes_that_begin_in_time() -> None:
    from radixengine.cache import Sequence as Seq
    from radixengine.executor import Batch

    cost = Roofline.of(model("llama-3.1-8b"), gpu("h100-sxm"))
    executor = CostExecutor(cost)
    seqs = tuple(Seq(number, b"", computed=1000 * number + 10) for number in range(4))
    batch = Batch((), seqs, 50)
    each = cost.decode_passes([seq.computed + 1 for seq in seqs], 50)
    starts = np.concatenate([[0.0], each.cumsum()])[:-1]
    for seconds in (0.0, 1e-9, float(each[0]), float(each[0]) * 1.5, float(each.sum()) * 0.6, 1e9):
        expected = max(1, int((starts < seconds).sum()))
        assert executor.lookahead(batch, seconds) == expected
    assert executor.lookahead(batch, float("inf")) == 50
