"""What a user can ask of an analysis, and which requests of a log it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from radixadvisor.catalog import KV_BYTES
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.ingest import parse_time
from radixadvisor.records import Request
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import TokenOptions

BASELINES = ("none", "vllm")
BREAKDOWNS = ("app", "model", "session", "tenant")
FILTER_KEYS = ("app", "model", "replica", "session", "tenant", "user")


@dataclass(frozen=True, slots=True)
class AnalyzeOptions:
    """Options of ``analyze``; None leaves a choice to the log.

    Attributes:
        format: the log's dialect.
        tokenizer, chat_template: names, or a model's directory and a template file.
        model: the model that GiB and MiB figures are for.
        kv_dtype: precision of its KV cache.
        output_tokens: the length of outputs that the log does not tell.
        where: ``KEY=VALUE`` conditions that a request must all meet.
        since: the earliest arrival, as ISO time or epoch seconds.
        limit: how many requests to read.
        by: what losses are broken down by: app, tenant, model or session.
        advice: whether to diagnose the log and try fixes on it, or only to measure it.
        capacity, concurrency, replicas: the server's pool in tokens per replica, clients at once, and
            replicas that take turns, where the log does not tell them.
        gpu, tensor_parallel, weights: the card to predict for, how many share a model, and the precision of
            the weights if not as published.
        baseline: what a radix cache is compared with: none or vllm.
        rate: requests per second to predict for, instead of the log's own arrivals.
        calibration: a file that ``radixadvisor calibrate`` wrote.
        mfu, mbu, step_overhead: assumed shares of a card's peaks, and seconds per pass beside them.
        progress: called with the number of requests read so far.
    """

    format: str | None = None
    tokenizer: str | None = None
    chat_template: str | None = None
    model: str | None = None
    kv_dtype: str = "bf16"
    output_tokens: int = 256
    where: tuple[str, ...] = ()
    since: str | None = None
    limit: int | None = None
    by: str | None = None
    advice: bool = True
    capacity: int | None = None
    concurrency: int | None = None
    replicas: int | None = None
    gpu: str | None = None
    tensor_parallel: int | None = None
    weights: str | None = None
    baseline: str = "none"
    rate: float | None = None
    calibration: str | None = None
    mfu: float | None = None
    mbu: float | None = None
    step_overhead: float | None = None
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for a value that cannot work."""
        if self.kv_dtype.lower() not in KV_BYTES:
            raise UnknownName("KV precision", self.kv_dtype, KV_BYTES)
        for name in ("capacity", "concurrency", "replicas"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, not {value}.")
        if self.baseline not in BASELINES:
            raise UnknownName("baseline", self.baseline, BASELINES)
        if self.step_overhead is not None and self.step_overhead <= 0:
            raise UsageError("A pass is never free: the overhead of a step must be above 0 seconds.")
        for condition in self.where:
            key, equals, _ = condition.partition("=")
            if not equals:
                raise UsageError(f"A condition reads KEY=VALUE, such as model=NAME; got {condition!r}.")
            if key not in FILTER_KEYS:
                raise UnknownName("key of a condition", key, FILTER_KEYS)
        if self.by is not None and self.by not in BREAKDOWNS:
            raise UnknownName("breakdown", self.by, BREAKDOWNS)
        if self.since is not None and parse_time(self.since) is None:
            raise UsageError(f"No time: {self.since!r}. Write 2026-03-09T09:00:00Z or epoch seconds.")

    def setting(self) -> Setting:
        """What is told of the server."""
        return Setting(self.capacity, self.concurrency, self.replicas)

    def tokens(self) -> TokenOptions:
        """The part that shapes prompts."""
        return TokenOptions(self.tokenizer, self.chat_template, self.output_tokens)

    def selection(self) -> Callable[[Request], bool] | None:
        """The filter that the conditions make; None takes every request.

        Values are compared without case. A request without an arrival does not meet ``since``.
        """
        conditions = [(key, value.lower()) for key, _, value in (text.partition("=") for text in self.where)]
        since = None if self.since is None else parse_time(self.since)
        if not conditions and since is None:
            return None

        def takes(request: Request) -> bool:
            if since is not None and (request.arrival is None or request.arrival < since):
                return False
            return all((getattr(request, key) or "").lower() == value for key, value in conditions)

        return takes
