"""What the detectors of serving faults see: the log as it was served, and worlds to serve it in again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from radixadvisor.diagnose.candidate import Place
from radixadvisor.diagnose.rules import rule
from radixadvisor.measure.partners import partners
from radixadvisor.measure.walks import Walks
from radixadvisor.records import EditSpec
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Changes", "Detector", "Facts", "HostedWorld", "Outcome", "Suspect", "World"]

Changes = tuple[EditSpec, ...]
"""Changes of serving, in the order in which they were made. ``clusters`` are empty: all requests."""


class Outcome(NamedTuple):
    """Tokens served and prompt tokens, per request in order of arrival."""

    served: Counts
    lengths: Counts

    @property
    def computed(self) -> Counts:
        """Tokens computed per request."""
        return self.lengths - self.served


class World(Protocol):
    """A cache that serves a log again, with changes."""

    @property
    def name(self) -> str:
        """The profile that it stands for."""

    def serve(self, trace: Trace, changes: Changes = ()) -> Outcome:
        """Serve a log."""


class HostedWorld(World, Protocol):
    """A hosted API, which also bills."""

    def bill(self, trace: Trace, changes: Changes = ()) -> float:
        """What the prompts cost, in prices of a token that is neither read from a cache nor written to it."""

    def still_cached(self, trace: Trace, lifetime: float) -> float:
        """The share of prompt tokens that an earlier prompt began with and that were used within
        ``lifetime`` seconds: time alone, without minimum, steps and breakpoints.
        """


@dataclass(frozen=True, slots=True)
class Suspect:
    """A suspected fault of serving.

    ``before`` and ``after`` say what was and what would be, free of prompt text. ``requests`` are trace
    indices. ``change`` is what would undo the fault under ``profile``; None for an explanation. ``rates`` are
    the hit rates with the restriction alone and without it, other limits of the profile aside.
    """

    rule: str
    profile: str
    title: str
    place: Place
    before: str
    after: str
    requests: tuple[int, ...]
    lost_tokens: int
    change: EditSpec | None = None
    rates: tuple[float, float] | None = None


class Facts:
    """One log as it was served. Arrays are in order of arrival; ``columns`` are the ledger's buckets,
    ``reuse`` the tokens that each prompt shares with an earlier one of its namespace.

    ``world`` is the headline profile's, ``vllm`` that of the block cache beside it; ``times`` are arrival,
    first token and end in seconds, None without timestamps; ``replicas`` holds a number per request where the
    log or the user tells replicas apart; ``queued``: more requests wait than the scheduler sorts.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        walks: Walks,
        lengths: Counts,
        columns: dict[str, Counts | None],
        reuse: Counts,
        fixed_reuse: Callable[[], Counts],
        namespaces: list[int],
        replicas: list[int] | None,
        times: tuple[Floats, Floats, Floats] | None,
        hosted: HostedProfile | None,
        world: World,
        vllm: World,
        setting: Setting,
        queued: bool = False,
    ) -> None:
        self.trace = trace
        self.walks = walks
        self.lengths = lengths
        self.columns = columns
        self.reuse = reuse
        self._fixed_reuse = fixed_reuse
        self.namespaces = namespaces
        self.replicas = replicas
        self.times = times
        self.hosted = hosted
        self.world = world
        self.vllm = vllm
        self.setting = setting
        self.queued = queued
        self.total = int(lengths.sum())

    def lost(self, bucket: str) -> Counts:
        """Tokens per request in a bucket of the ledger; zeros where it was not evaluated."""
        import numpy as np

        column = self.columns.get(bucket)
        return np.zeros(len(self.lengths), np.int64) if column is None else column

    @cached_property
    def fixed_reuse(self) -> Counts:
        """``reuse`` with all text fixes in the log."""
        return self._fixed_reuse()

    @cached_property
    def partners(self) -> Counts:
        """Who left the longest prefix in each request's namespace, as positions; -1 for nobody."""
        return partners(self.walks, self.namespaces)

    def gap(self, position: int) -> float | None:
        """Seconds from the arrival of a request's partner to its own."""
        partner = int(self.partners[position])
        if partner < 0 or self.times is None:
            return None
        return float(self.times[0][position] - self.times[0][partner])

    def request_id(self, position: int) -> str:
        """The id of the request at a position."""
        return self.trace.requests[self.trace.order[position]].id

    def place(self, position: int, path: str) -> Place:
        """A field of the request at a position."""
        return Place(self.request_id(position), path, 0, 0)

    def indices(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Trace indices of positions."""
        return tuple(sorted(self.trace.order[int(position)] for position in positions))

    def worth(self, number: str, tokens: int) -> bool:
        """Whether a loss reaches the share of prompt tokens that its rule names."""
        return tokens >= max(rule(number).threshold("least_share") * self.total, 1.0)


Detector = Callable[[Facts], Iterable[Suspect]]
