"""Whether to adopt a radix-cache engine: numbers against the thresholds of ``rules/verdict.toml``.

``go`` if every criterion holds on the log as it is, ``go_after_fixes`` if it does only with the prescriptions
applied, ``no_go`` if not even then, ``insufficient_data`` if the log is too small to tell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from radixadvisor.paths import data_dir

__all__ = [
    "AFTER_FIXES",
    "GO",
    "INSUFFICIENT",
    "NO_GO",
    "Case",
    "Evidence",
    "Reason",
    "Side",
    "Thresholds",
    "Verdict",
    "decide",
    "read_thresholds",
]

GO, AFTER_FIXES, NO_GO, INSUFFICIENT = "go", "go_after_fixes", "no_go", "insufficient_data"

Thresholds = Mapping[str, Any]
"""``rules/verdict.toml``: table -> name -> {value, reason}."""


@dataclass(frozen=True, slots=True)
class Case:
    """The radix engine against a baseline on one form of the log.

    ``ratio``: of throughput at saturation, ``low`` to ``high`` its interval; ``saved``: share of the
    baseline's prefill time; ``tokens``: computed tokens per request that it saves; ``baseline_rate`` and
    ``rate``: prompt tokens served from each one's cache.
    """

    ratio: float
    low: float
    high: float
    saved: float
    tokens: float
    baseline_rate: float
    rate: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a decision rests on. ``given`` and ``fixed`` by baseline, ``fixed`` None without prescriptions.

    ``repeated``: prompt tokens that repeat the beginning of an earlier prompt, as a share; ``prefill_share``:
    of GPU time without a cache; ``reported``: the share that the log's own server said it served, None if it
    said nothing.
    """

    requests: int
    prompt_tokens: int
    repeated: float
    prefill_share: float
    given: Mapping[str, Case]
    fixed: Mapping[str, Case] | None
    reported: float | None


@dataclass(frozen=True, slots=True)
class Reason:
    """A value and its threshold; ``holds`` if it speaks for the change. ``unit``: share, ratio or count."""

    text: str
    value: float
    threshold: float
    holds: bool
    unit: str


@dataclass(frozen=True, slots=True)
class Side:
    """A decision against one baseline, reasons in order of weight. ``robust``: it is the same at both ends of
    the interval; ``change``: what would turn it.
    """

    baseline: str
    decision: str
    reasons: tuple[Reason, ...]
    robust: bool
    change: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision against the baseline asked for, and against a block cache."""

    main: Side
    against_vllm: Side


def read_thresholds() -> Thresholds:
    """``rules/verdict.toml``."""
    return tomllib.loads((data_dir("rules") / "verdict.toml").read_text(encoding="utf-8"))


def decide(evidence: Evidence, baseline: str, thresholds: Thresholds | None = None) -> Verdict:
    """The verdict against ``baseline`` (``none`` or ``vllm``), and against vllm."""
    rules = thresholds if thresholds is not None else read_thresholds()
    return Verdict(_side(evidence, baseline, rules), _side(evidence, "vllm", rules))


def _side(evidence: Evidence, baseline: str, rules: Thresholds) -> Side:
    missing = [reason for reason in _data(evidence, rules["data"]) if not reason.holds]
    if missing:
        return Side(baseline, INSUFFICIENT, tuple(missing), True, ("a longer log of the same traffic",))
    given = evidence.given[baseline]
    fixed = None if evidence.fixed is None else evidence.fixed[baseline]
    decision, robust = _decision(given, fixed, baseline, rules)
    case = fixed if decision == AFTER_FIXES and fixed is not None else given
    reasons = list(_criteria(case, baseline, rules[baseline]))
    if decision == AFTER_FIXES:
        doubtful = _all_hold(given, "ratio", baseline, rules)
        now = _criteria(given, baseline, rules[baseline], given.low if doubtful else given.ratio)
        when = "as it is now, at worst: " if doubtful else "as it is now: "
        reasons = [_renamed(reason, "with the changes: ") for reason in reasons]
        reasons += [_renamed(reason, when) for reason in now if not reason.holds]
    if decision == NO_GO:
        reasons = [*_explained(evidence, given, baseline, rules), *reasons]
    # What speaks against comes first in a refusal, the farthest from its threshold first.
    reasons.sort(key=lambda reason: (reason.holds is (decision == NO_GO), -_distance(reason)))
    changes = tuple(_changes(evidence, given, decision, baseline, rules))
    return Side(baseline, decision, tuple(reasons), robust, changes)


def _decision(given: Case, fixed: Case | None, baseline: str, rules: Thresholds) -> tuple[str, bool]:
    """The decision, and whether it is the same at both ends of the interval.

    What holds at the low end comes first: a gain in doubt gives way to one that the changes make sure.
    """

    def holds(case: Case | None, ratio: str) -> bool:
        return case is not None and _all_hold(case, ratio, baseline, rules)

    for ratio, robust in (("low", True), ("ratio", False)):
        if holds(given, ratio):
            return GO, robust
        if holds(fixed, ratio):
            return AFTER_FIXES, robust
    return NO_GO, not holds(given, "high") and not holds(fixed, "high")


def _all_hold(case: Case, which: str, baseline: str, rules: Thresholds) -> bool:
    return all(reason.holds for reason in _criteria(case, baseline, rules[baseline], getattr(case, which)))


def _criteria(
    case: Case, baseline: str, rules: Mapping[str, Any], ratio: float | None = None
) -> Iterator[Reason]:
    over = _OVER[baseline]
    values = {
        "throughput_ratio": case.ratio if ratio is None else ratio,
        "prefill_time_saved": case.saved,
        "saved_tokens_per_request": case.tokens,
    }
    words = {
        "throughput_ratio": (f"throughput at saturation over {over}", "ratio"),
        "prefill_time_saved": (f"prefill time saved over {over}", "share"),
        "saved_tokens_per_request": (f"tokens saved per request over {over}", "count"),
    }
    for name, rule in rules.items():
        limit = float(rule["value"])
        text, unit = words[name]
        yield Reason(text, values[name], limit, values[name] >= limit, unit)


_OVER = {"none": "no cache", "vllm": "vllm"}


def _data(evidence: Evidence, rules: Mapping[str, Any]) -> Iterator[Reason]:
    for name, words in (("requests", "requests in the log"), ("prompt_tokens", "prompt tokens in the log")):
        value, limit = float(getattr(evidence, name)), float(rules[name]["value"])
        yield Reason(words, value, limit, value >= limit, "count")


def _explained(evidence: Evidence, case: Case, baseline: str, rules: Thresholds) -> Iterator[Reason]:
    """Why there is nothing to gain."""
    ceiling = _value(rules, "explain", "ceiling")
    if baseline != "none" and case.rate > 0:
        share = case.baseline_rate / case.rate
        if share >= ceiling:
            text = f"hits of the radix cache that {baseline} serves already"
            yield Reason(text, share, ceiling, False, "share")
    if evidence.reported is not None and case.rate > 0 and evidence.reported / case.rate >= ceiling:
        share = evidence.reported / case.rate
        text = "hits of the radix cache that the log's own server reports already"
        yield Reason(text, share, ceiling, False, "share")
    repeated = _value(rules, "explain", "repeated")
    if evidence.repeated < repeated:
        text = "prompt tokens that repeat the beginning of an earlier prompt"
        yield Reason(text, evidence.repeated, repeated, False, "share")
    wanted = _value(rules, baseline, "throughput_ratio")
    if evidence.prefill_share < 1 and 1 / (1 - evidence.prefill_share) < wanted:
        text = "throughput with a perfect cache, since decode takes the rest of the time"
        yield Reason(text, 1 / (1 - evidence.prefill_share), wanted, False, "ratio")


def _changes(
    evidence: Evidence, given: Case, decision: str, baseline: str, rules: Thresholds
) -> Iterator[str]:
    """What would turn the decision, by the closed form 1 / (1 - f r)."""
    wanted = _value(rules, baseline, "throughput_ratio")
    if baseline == "none" and evidence.prefill_share > 0:
        needed = (1 - 1 / wanted) / evidence.prefill_share
        if needed >= 1:
            least, now = f"{1 - 1 / wanted:.0%}", f"{evidence.prefill_share:.0%}"
            yield f"prefill taking more than {least} of the GPU time, where it takes {now}"
        elif decision == GO:
            yield f"saving less than {needed:.0%} of the prefill time, where {given.saved:.0%} are predicted"
        else:
            yield f"saving {needed:.0%} of the prefill time or more, where {given.saved:.0%} are predicted"
    elif decision == NO_GO:
        served = f"{given.baseline_rate:.0%}"
        yield f"a workload on which the radix cache serves much more than the {served} of {baseline}"
    if decision == AFTER_FIXES:
        yield "leaving out the changes to the prompts"


def _value(rules: Thresholds, table: str, name: str) -> float:
    return float(rules[table][name]["value"])


def _distance(reason: Reason) -> float:
    return abs(reason.value / reason.threshold - 1) if reason.threshold else 0.0


def _renamed(reason: Reason, prefix: str) -> Reason:
    return replace(reason, text=prefix + reason.text)
