"""What changes while a scheduler runs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from radixengine.config import Reservation
from radixengine.jobs import Task


@dataclass(slots=True)
class State:
    """Everything that changes while a scheduler runs.

    ``fetching`` holds requests whose tokens come from an external tier: (ready, order, task), a heap.
    ``partial`` is the request whose prompt is only partly computed. ``full``: the last attempt to admit
    found no room, and nothing has been given back since. ``epoch`` grows whenever matches may have changed.
    """

    waiting: deque[Task] = field(default_factory=deque)
    fetching: list[tuple[float, int, Task]] = field(default_factory=list)
    running: list[Task] = field(default_factory=list)
    partial: Task | None = None
    full: bool = False
    clock: float = 0.0
    epoch: int = 0
    unsorted: bool = False


class Share:
    """The share of outstanding output that is reserved: falls with decode steps, rises at a retraction."""

    def __init__(self, rule: Reservation) -> None:
        self._rule = rule
        self._first = min(rule.initial * rule.conservativeness, 1.0)
        self._last = self._first * rule.minimum
        self._fall = (self._first - self._last) / rule.decay_steps
        self.reset()

    def reset(self) -> None:
        """Back to the initial share, as when the engine is idle."""
        self._start, self._steps = self._first, 0

    def decoded(self, steps: int) -> None:
        """That many decode steps went by."""
        self._steps += steps

    def retracted(self, running: list[Task]) -> None:
        """Set the share to what the requests that stay have used of their limits, some steps ahead."""
        used = sum(task.before + task.emitted for task in running)
        total = used + sum(task.reserve_left for task in running)
        used += self._rule.lookahead * len(running)
        self._start, self._steps = min(used / total, 1.0) if total else 1.0, 0

    def value(self) -> float:
        """The share now, in [0, 1]."""
        return max(self._start - self._fall * self._steps, self._last)

    def outstanding(self, running: list[Task]) -> float:
        """Tokens to keep free for what the running requests may still emit."""
        clip = self._rule.clip
        left = [task.reserve - task.emitted for task in running]
        return sum([min(tokens, clip) for tokens in left if tokens > 0]) * self.value()

    def whole(self, task: Task) -> int:
        """Output tokens to reserve for a request that is being admitted."""
        return min(task.reserve_left, self._rule.clip)
