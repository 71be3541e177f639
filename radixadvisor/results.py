"""The plain data of an Analysis: what the rooms measured and what a report shows, free of behaviour.

Counts are tokens unless a name says otherwise; rates and shares are fractions of prompt tokens. A value that
was not evaluated is None, with its reason in ``Analysis.not_evaluated`` under the field's dotted name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from radixadvisor.predict.results import Prediction
from radixadvisor.results_advice import (
    Breakdown,
    CheckedRule,
    Finding,
    LossRow,
    Prescription,
    ReplicaRow,
    Settings,
    Where,
)
from radixadvisor.results_order import OrderResult
from radixadvisor.verdict import Verdict

__all__ = [
    "HIT_GATE",
    "Analysis",
    "ApplicationRow",
    "Assumption",
    "Bounds",
    "Branch",
    "Breakdown",
    "CapacityRow",
    "CheckedRule",
    "Finding",
    "HitCount",
    "HitRates",
    "Hits",
    "InputSummary",
    "LedgerRow",
    "LossRow",
    "Noise",
    "Prescription",
    "ReplicaRow",
    "SkipSummary",
    "TokenizerInfo",
    "Totals",
    "Where",
]

HIT_GATE = 0.02
"""Share of the prompt tokens by which predicted hits may differ from those that a server reports."""


@dataclass(frozen=True, slots=True)
class SkipSummary:
    """Records that gave no request: how many, why, and the first few of each reason as ``file:line``."""

    count: int
    reasons: dict[str, int]
    examples: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class InputSummary:
    """What was read. ``span_seconds`` is last minus first arrival, None without timestamps; ``unit`` is the
    number of tokens per position (1, or the block size of a hash trace).
    """

    files: tuple[str, ...]
    dialect: str
    evidence: str
    requests: int
    skipped: SkipSummary
    span_seconds: float | None
    unit: int
    sessions: int
    exact_repeats: int


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """Vocabulary and template that stand for a model; ``exact`` only where a reference confirms them."""

    name: str
    template: str
    template_hash: str
    exact: bool
    requests: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    """Token sums over the log; ``unique`` counts the tokens of the prefix tree over prompts."""

    prompt_tokens: int
    output_tokens: int
    unique_tokens: int


@dataclass(frozen=True, slots=True)
class HitCount:
    """Tokens served from the cache, and their share of all prompt tokens."""

    tokens: int
    rate: float


@dataclass(frozen=True, slots=True)
class HitRates:
    """The same measurement told three ways, since published figures mix them up."""

    token_weighted: float
    mean_per_request: float
    share_of_requests_hit: float


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits without limits (``unlimited``) and per engine profile.

    ``across_sessions`` and ``within_session`` are what requests of other sessions, or of the same session
    alone, would serve in the unlimited cache; the two overlap.
    """

    unlimited: HitCount
    profiles: dict[str, HitCount]
    headline: str
    rates: HitRates
    profile_rates: dict[str, HitRates]
    across_sessions: HitCount
    within_session: HitCount | None


@dataclass(frozen=True, slots=True)
class Branch:
    """A shared stretch of the prefix tree.

    ``depth`` is where it ends (tokens from the root), ``tokens`` its own length, ``requests`` how many
    prompts pass through it, ``saved`` the tokens that its reuse saves, ``pin_mib`` what keeping root to end
    resident costs for the log's model (None if unknown), ``parent`` the index of the branch it continues (-1
    at the root).
    """

    depth: int
    tokens: int
    requests: int
    saved: int
    pin_mib: float | None
    excerpt: str
    label: str
    parent: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """Tokens that could be served: ordered so that each is at most the next."""

    current: int
    best_order_found: int | None
    dp_optimum: int | None
    every_segment_seen_before: int | None
    optimal_eviction: int | None


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """Hit rate at one cache size, LRU and optimal eviction."""

    tokens: int
    gib: float | None
    lru_rate: float
    optimal_rate: float | None
    steady_lru_rate: float | None = None


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One bucket of the ledger; ``tokens`` is None where the bucket was not evaluated."""

    bucket: str
    tokens: int | None
    share: float | None


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """The requests of one application: ``id`` stays the same from log to log, ``name`` is the log's own
    (empty without one), ``served_tokens`` those of the headline profile.
    """

    id: str
    name: str
    models: tuple[str, ...]
    requests: int
    prompt_tokens: int
    served_tokens: int


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard errors over sessions drawn anew: of the hit rate of each profile, of the share of each bucket
    of the ledger, and of computed and prompt tokens per request (headline profile).
    """

    sessions: int
    rates: dict[str, float]
    ledger: dict[str, float]
    computed_per_request: float
    prompt_per_request: float


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, and the effect it has on the figures."""

    text: str
    effect: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that one log said."""

    input: InputSummary
    tokenizers: tuple[TokenizerInfo, ...]
    totals: Totals
    hits: Hits
    branches: tuple[Branch, ...]
    bounds: Bounds
    capacity: tuple[CapacityRow, ...]
    ledger: tuple[LedgerRow, ...]
    kv_bytes_per_token: int | None
    model: str | None
    assumptions: tuple[Assumption, ...] = ()
    not_evaluated: dict[str, str] = field(default_factory=dict)
    reported_cached_tokens: int | None = None
    predicted_cached_tokens: int | None = None
    calibration_error: float | None = None
    findings: tuple[Finding, ...] = ()
    prescriptions: tuple[Prescription, ...] = ()
    checked: tuple[CheckedRule, ...] = ()
    replica_range: tuple[ReplicaRow, ...] = ()
    by: Breakdown | None = None
    prediction: Prediction | None = None
    verdict: Verdict | None = None
    applications: tuple[ApplicationRow, ...] = ()
    noise: Noise | None = None
    order: OrderResult | None = None
    settings: Settings | None = None
