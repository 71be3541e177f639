"""Ctrl-C at any line: what a stopped run says of a request is true, and the engine can be used again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isnan
from random import Random
from types import FrameType
from typing import Any

from radixengine.engine import Engine, EngineOptions
from radixengine.profile import RadixProfile
from radixengine.results import EngineRun
from radixengine.weights import random_model

from tests.engine.test_engine import SMALL, rag_jobs


class _Lines:
    """Counts executed lines of the engine; at ``stop`` comes the interrupt."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop = stop
        self.count = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        return self._line if "radixengine" in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "line":
            self.count += 1
            if self.count == self.stop:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def _traced(lines: _Lines, run: Callable[[], EngineRun]) -> EngineRun | None:
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        return run()
    except KeyboardInterrupt:
        return None
    finally:
        sys.settrace(before)


def test_an_interrupt_anywhere_leaves_a_true_partial_result() -> None:
    jobs = rag_jobs(10)
    options = EngineOptions(300, profile=RadixProfile(host_ratio=2.0), threads=1)
    engine = Engine(random_model(SMALL), options)

    def serve() -> EngineRun:
        return engine.run(jobs, in_flight=3)

    whole, lines = serve(), _Lines()
    assert whole.evicted_tokens
    _traced(lines, serve)
    rng = Random(0)
    stopped = finished = 0
    for _ in range(60):
        run = _traced(_Lines(rng.randrange(1, lines.count)), serve)
        if run is None:
            # It came while the run was set up, or while its result was put together.
            continue
        stopped += not run.complete
        for record in run.records:
            got, expected = run.outputs[record.rid], whole.outputs[record.rid]
            assert got == expected[: len(got)]
            assert len(run.gaps[record.rid]) == len(run.token_times[record.rid]) == len(got) // 4
            if not isnan(record.finished):
                finished += 1
                assert got == expected
    assert stopped > 40
    assert finished > 40
    assert serve().outputs == whole.outputs
