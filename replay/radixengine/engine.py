"""The engine: jobs in, tokens and measurements out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from radixengine.jobs import Job
from radixengine.options import EngineOptions
from radixengine.results import EngineRun

if TYPE_CHECKING:
    from radixengine.model import Decoder

__all__ = ["Engine", "EngineOptions", "EngineRun"]


class Engine:
    """A model with a KV pool, serving jobs by the scheduler that the simulator uses too.

    Raises:
        ValueError: the options name an unknown backend, or the pool does not fit the device's memory.
    """

    def __init__(self, model: Decoder, options: EngineOptions) -> None:
        self.model = model
        self.options = options

    def run(
        self,
        jobs: Sequence[Job],
        *,
        at_arrivals: bool = False,
        in_flight: int | None = None,
        progress: Callable[[int], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> EngineRun:
        """Serve the jobs from an empty cache.

        Each decodes greedily up to ``max_new`` tokens (default: the length of its ``output``; the recorded
        output itself is not forced). What is generated enters the cache.

        Args:
            at_arrivals: jobs come at their ``arrival`` on the engine's clock, which skips idle time;
                otherwise all of them wait from the start, in the order given.
            in_flight: that many clients each send their next job when one ends; 1 serves one at a time.
            progress: called after every step with the number of jobs that ended.
            stopped: asked after every step; True ends the run with what is there, as KeyboardInterrupt does.

        Raises:
            ValueError: a prompt has tokens outside the vocabulary of a model with real weights, or arrivals
                are out of order.
        """
        raise NotImplementedError
