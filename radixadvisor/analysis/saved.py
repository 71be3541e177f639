"""A report.json that was written before, as far as gates and comparisons read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from radixadvisor.errors import UsageError

__all__ = [
    "REPORT",
    "UNLIMITED",
    "Saved",
    "SavedApplication",
    "SavedFinding",
    "SavedFix",
    "SavedNoise",
    "read_report",
    "saved",
]

REPORT = "radixadvisor/report/"
UNLIMITED = "unlimited"
_NEWEST = 1
_NO_PROFILES = ("headline", "rates", "across_sessions", "within_session")


@dataclass(frozen=True, slots=True)
class SavedWhere:
    request_id: str
    path: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class SavedFinding:
    rule: str
    title: str
    profile: str
    severity: str
    where: SavedWhere
    requests: int
    lost_tokens: int
    fix: str = ""
    application: str = ""


@dataclass(frozen=True, slots=True)
class SavedFix:
    id: str
    rules: tuple[str, ...]
    title: str
    edit: str
    rate_after: float
    profile: str = "sglang"


@dataclass(frozen=True, slots=True)
class SavedApplication:
    id: str
    name: str
    models: tuple[str, ...]
    requests: int
    prompt_tokens: int
    served_tokens: int


@dataclass(frozen=True, slots=True)
class SavedNoise:
    sessions: int
    rates: dict[str, float]
    ledger: dict[str, float]
    computed_per_request: float
    prompt_per_request: float


@dataclass(frozen=True, slots=True)
class _Input:
    files: tuple[str, ...]
    dialect: str
    requests: int
    unit: int = 1
    span_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    name: str
    template: str
    template_hash: str = ""


@dataclass(frozen=True, slots=True)
class _Totals:
    prompt_tokens: int
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Bucket:
    bucket: str
    tokens: int | None


@dataclass(frozen=True, slots=True)
class _Hit:
    tokens: int


@dataclass(frozen=True, slots=True)
class _Body:
    """The fields of report.json that are read; all others are left alone."""

    schema: str
    version: str
    input: _Input
    totals: _Totals
    hits: dict[str, Any]
    tokenizers: tuple[_Tokenizer, ...] = ()
    ledger: tuple[_Bucket, ...] = ()
    findings: tuple[SavedFinding, ...] = ()
    prescriptions: tuple[SavedFix, ...] = ()
    applications: tuple[SavedApplication, ...] = ()
    noise: SavedNoise | None = None
    model: str | None = None
    not_evaluated: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Saved:
    """One report.

    ``profiles`` are tokens served by each cache, ``unlimited`` included; ``ledger`` holds None for a bucket
    that was not evaluated; ``tokenizers`` are (vocabulary, template) pairs.
    """

    version: str
    files: tuple[str, ...]
    requests: int
    unit: int
    prompt_tokens: int
    headline: str
    profiles: Mapping[str, int]
    ledger: Mapping[str, int | None]
    tokenizers: tuple[tuple[str, str], ...]
    findings: tuple[SavedFinding, ...]
    prescriptions: tuple[SavedFix, ...]
    applications: tuple[SavedApplication, ...]
    noise: SavedNoise | None
    model: str | None
    not_evaluated: Mapping[str, str]

    def rate(self, profile: str) -> float | None:
        """The hit rate of a cache; None if it was not measured or the log has no prompt tokens."""
        tokens = self.profiles.get(profile)
        return None if tokens is None or not self.prompt_tokens else tokens / self.prompt_tokens

    @property
    def models(self) -> frozenset[str]:
        """Models that the log's applications name."""
        return frozenset(model for item in self.applications for model in item.models)


def read_report(path: Path) -> Saved:
    """The report in a file.

    Raises:
        UsageError: it cannot be read, is no report, or comes from a later version.
    """
    import msgspec

    try:
        body = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}.") from None
    try:
        return saved(body)
    except UsageError as error:
        raise UsageError(f"{path} {error}") from None


def saved(body: object) -> Saved:
    """A report from its JSON.

    Raises:
        UsageError: it is no report; the sentence lacks its subject.
    """
    import msgspec

    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(schema, str) or not schema.startswith(REPORT):
        told = f"its schema is {schema!r}" if schema else "it names no schema"
        raise UsageError(f"is no report of radixadvisor analyze: {told}.")
    number = schema.removeprefix(REPORT)
    if number != str(_NEWEST):
        raise UsageError(f"is a report of schema {number}; this version reads {REPORT}{_NEWEST}.")
    try:
        found = msgspec.convert(body, type=_Body)
        caches = {name: value for name, value in found.hits.items() if name not in _NO_PROFILES}
        profiles = msgspec.convert(caches, type=dict[str, _Hit])
        headline = msgspec.convert(found.hits.get("headline"), type=str)
    except msgspec.ValidationError as error:
        raise UsageError(f"is a report with a field that cannot be as it is: {error}.") from None
    if found.totals.prompt_tokens < 0 or found.input.requests < 1 or headline not in profiles:
        raise UsageError("is a report without requests or without its headline profile.")
    return Saved(
        version=found.version,
        files=found.input.files,
        requests=found.input.requests,
        unit=found.input.unit,
        prompt_tokens=found.totals.prompt_tokens,
        headline=headline,
        profiles={name: hit.tokens for name, hit in profiles.items()},
        ledger={row.bucket: row.tokens for row in found.ledger},
        tokenizers=tuple((used.name, used.template) for used in found.tokenizers),
        findings=found.findings,
        prescriptions=found.prescriptions,
        applications=found.applications,
        noise=found.noise,
        model=found.model,
        not_evaluated=found.not_evaluated,
    )
