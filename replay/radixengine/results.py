"""What an engine run measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from radixengine.jobs import Record
from radixengine.scheduler import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PoolPeaks:
    """The most tokens that the device's pool held in any step.

    ``used``: not free; ``running``: locked or owned by running requests; ``evictable``: cached only, at the
    end of a step.
    """

    capacity: int
    used: int = 0
    running: int = 0
    evictable: int = 0


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The outcome of one ``Engine.run``. Seconds are on the engine's clock: real seconds of serving, without
    the idle time before an arrival.

    Attributes:
        records: one per submitted job, in order of submission. ``matched`` are its hit tokens, ``host`` of
            them loaded back from the host. Times of an unfinished job are nan.
        outputs: rid -> the packed int32 tokens that were generated.
        gaps: rid -> float32 per output token, the top logit minus the second.
        token_times: rid -> float64 per output token, the clock when it came. Differences are inter-token
            latencies.
        seconds: the clock at the end.
        prefill_seconds: seconds of the passes that computed prompt tokens; ``decode_seconds`` of all others.
            Together less than ``seconds`` by the scheduler's own time and idle time.
        prefill_tokens: prompt tokens computed, those recomputed after a retraction included.
        decode_tokens: tokens computed in decode.
        request_prefill: rid -> seconds of the passes that computed its prompt; passes shared by several
            requests count for each of them.
        peaks: the fullest the pool was.
        evicted_tokens: tokens evicted from the device.
        retractions: times that a running request was sent back.
        loaded_tokens: tokens copied back from the host, ``load_seconds`` what the copies took.
        schedule: every step as it was run; ``radixengine.recorded`` runs it again without a model.
        complete: False if the run was stopped before every job had ended.
        threads: CPU threads used; ``backend``: the attention used.
    """

    records: tuple[Record, ...]
    outputs: dict[int, bytes]
    gaps: dict[int, NDArray[Any]]
    token_times: dict[int, NDArray[Any]]
    seconds: float
    prefill_seconds: float
    decode_seconds: float
    prefill_tokens: int
    decode_tokens: int
    request_prefill: dict[int, float]
    peaks: PoolPeaks
    evicted_tokens: int
    retractions: int
    loaded_tokens: int
    load_seconds: float
    schedule: tuple[Step, ...]
    complete: bool
    threads: int
    backend: str
