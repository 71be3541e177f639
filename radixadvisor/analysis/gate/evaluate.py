"""Gates evaluated on one log's report: pure functions from figures to PASS, FAIL or SKIP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from radixadvisor.analysis.gate.asked import Asked, Limit
from radixadvisor.analysis.gate.results import FAIL, PASS, SKIP, Checked, Gate
from radixadvisor.analysis.matching import match_findings
from radixadvisor.analysis.saved import Saved, SavedFinding

__all__ = ["evaluate", "lost_to", "not_evaluated"]

_ROUNDING = 1e-9
"""What the last digits of a difference of two fractions may say against a user."""

_SERVING = "RA5"
_NEEDS = {
    "RA503": "ledger.isolation",
    "RA504": "ledger.ttl",
    "RA506": "ledger.in_flight",
    "RA507": "ledger.replicas",
    "RA508": "ledger.capacity",
    "RA509": "ledger.in_flight",
    "RA511": "calibration",
    "RA512": "calibration",
    "RA513": "ledger.rounding",
}
"""What has to be known of a log for a rule of serving to find anything, by its field in ``not_evaluated``."""


def evaluate(asked: Asked, now: Saved, locked: Sequence[Gate] = (), notes: Iterable[str] = ()) -> Checked:
    """Every gate that was asked for.

    Args:
        asked: the gates.
        now: the report of the log.
        locked: the gates of ``asked.lock``, compared where prompts are known.
        notes: what is to be said beside them.
    """
    gates = [*_hit_rate(asked, now), *(_limited(limit, asked, now) for limit in asked.limits)]
    said: list[str] = []
    if asked.against is not None:
        said += _doubts(asked.against, now)
        gates += [*_drop(asked, asked.against, now), *_new_findings(asked, asked.against, now)]
    return Checked((*gates, *locked), (*said, *notes))


def not_evaluated(asked: Asked, reason: str) -> Checked:
    """The gates where nothing of a log could be used."""
    skipped: list[Gate] = []
    if asked.min_hit_rate is not None:
        skipped.append(_skip("min-hit-rate", asked.min_hit_rate, "rate", reason, floor=True))
    for limit in asked.limits:
        skipped.append(_skip(_limit_name(limit), *_threshold(limit), reason))
    if asked.max_drop is not None:
        skipped.append(_skip("max-drop", asked.max_drop, "points", reason))
    if asked.no_new_findings:
        skipped.append(_skip("no-new-findings", 0, "findings", reason))
    if asked.lock is not None:
        skipped.append(_skip("lock", len(asked.lock.applications), "applications", reason, floor=True))
    return Checked(tuple(skipped))


def _skip(name: str, threshold: float, unit: str, reason: str, *, floor: bool = False) -> Gate:
    return Gate(name, None, threshold, unit, floor, SKIP, reason)


def _hit_rate(asked: Asked, now: Saved) -> Iterator[Gate]:
    least = asked.min_hit_rate
    if least is None:
        return
    profile = asked.profile or now.headline
    name, rate = f"min-hit-rate {profile}", now.rate(profile)
    if rate is None:
        yield _skip(name, least, "rate", _no_rate(now, profile), floor=True)
        return
    status = PASS if rate >= least - _ROUNDING else FAIL
    served = f"{now.profiles[profile]:,} of {now.prompt_tokens:,} prompt tokens are served"
    yield Gate(name, rate, least, "rate", True, status, served)


def _no_rate(now: Saved, profile: str) -> str:
    if not now.prompt_tokens:
        return "the log has no prompt tokens"
    return f"{profile} was not measured: no {profile} request is in the log"


def _limit_name(limit: Limit) -> str:
    return f"max-lost {limit.name}"


def _threshold(limit: Limit) -> tuple[float, str]:
    if limit.share is not None:
        return limit.share, "share"
    assert limit.tokens is not None
    return limit.tokens, "tokens"


def _limited(limit: Limit, asked: Asked, now: Saved) -> Gate:
    threshold, unit = _threshold(limit)
    name = _limit_name(limit)
    unknown = _unknown(limit, now)
    if unknown is not None:
        return _skip(name, threshold, unit, unknown)
    if limit.bucket is not None:
        lost = now.ledger[limit.bucket] or 0
        breaking: tuple[SavedFinding, ...] = ()
        reason = f"{lost:,} prompt tokens under {now.headline}"
    else:
        profile, lost, breaking = lost_to(limit.rules, asked.profile, now)
        reason = _contributors(breaking, profile) if breaking else "none of these rules finds anything"
        silent = [rule for rule in limit.rules if _unknown_rule(rule, now) is not None]
        if silent and limit.wide:
            reason += f"; not evaluated: {', '.join(silent)}"
    value = lost / now.prompt_tokens if unit == "share" else float(lost)
    status = PASS if value <= threshold + _ROUNDING else FAIL
    return Gate(name, value, threshold, unit, False, status, reason, breaking if status == FAIL else ())


def _unknown(limit: Limit, now: Saved) -> str | None:
    """Why a limit cannot be evaluated; None if it can, be it for one of its rules alone."""
    if not now.prompt_tokens:
        return "the log has no prompt tokens"
    if limit.bucket is not None:
        if now.ledger.get(limit.bucket) is not None:
            return None
        return now.not_evaluated.get(f"ledger.{limit.bucket}", "the ledger does not have it")
    reasons = [_unknown_rule(rule, now) for rule in limit.rules]
    known = [reason for reason in reasons if reason is not None]
    return (
        None if len(known) < len(reasons) else max(Counter(known), key=lambda text: (known.count(text), text))
    )


def _unknown_rule(rule: str, now: Saved) -> str | None:
    """Why a rule could find nothing in a log; None if it could."""
    if any(item.rule == rule for item in now.findings):
        return None
    missing = now.not_evaluated
    if not rule.startswith(_SERVING):
        return missing.get("findings")
    field = _NEEDS.get(rule)
    return None if field is None else missing.get(field)


def lost_to(
    rules: Sequence[str], profile: str | None, now: Saved
) -> tuple[str, int, tuple[SavedFinding, ...]]:
    """The profile that loses most to some rules, the tokens, and the findings that they come from.

    Each prescription counts once, by the greatest loss among its findings; what is lost to several faults at
    a time counts for each, so the sum is cut at what the profile computes. Text costs the same under every
    profile that can be asked for: ``profile`` chooses among findings of serving alone.
    """
    chosen = [item for item in now.findings if item.rule in rules and item.lost_tokens > 0]
    text = [item for item in chosen if not item.rule.startswith(_SERVING)]
    profiles = dict.fromkeys([profile or now.headline, *(item.profile for item in chosen)])
    best = (profile or now.headline, 0, tuple[SavedFinding, ...]())
    for name in [profile] if profile else profiles:
        own = text + [item for item in chosen if item.rule.startswith(_SERVING) and item.profile == name]
        by_fix: dict[str, int] = {}
        for number, item in enumerate(own):
            key = item.fix or f"finding {number}"
            by_fix[key] = max(by_fix.get(key, 0), item.lost_tokens)
        lost = min(sum(by_fix.values()), now.prompt_tokens)
        if lost > best[1]:
            best = (name, lost, tuple(sorted(own, key=lambda item: (-item.lost_tokens, item.rule))))
    return best


def _contributors(findings: Sequence[SavedFinding], profile: str) -> str:
    lost: dict[str, int] = {}
    for item in findings:
        lost[item.rule] = max(lost.get(item.rule, 0), item.lost_tokens)
    return f"{', '.join(f'{rule} {tokens:,}' for rule, tokens in lost.items())} under {profile}"


def _drop(asked: Asked, before: Saved, now: Saved) -> Iterator[Gate]:
    most = asked.max_drop
    if most is None:
        return
    profile = asked.profile or before.headline
    name = f"max-drop {profile}"
    was, rate = before.rate(profile), now.rate(profile)
    if before.unit != now.unit:
        reason = f"the reports count in units of {before.unit} and {now.unit} tokens"
    elif was is None:
        reason = f"the earlier report has no rate of {profile}"
    else:
        reason = _no_rate(now, profile)
    if was is None or rate is None or before.unit != now.unit:
        yield _skip(name, most, "points", reason)
        return
    drop = was - rate
    status = PASS if drop <= most + _ROUNDING else FAIL
    yield Gate(name, drop, most, "points", False, status, f"the hit rate was {was:.2%} and is {rate:.2%}")


def _new_findings(asked: Asked, before: Saved, now: Saved) -> Iterator[Gate]:
    if not asked.no_new_findings:
        return
    for report, which in ((before, "the earlier report"), (now, "this log")):
        reason = report.not_evaluated.get("findings")
        if reason is not None and not report.findings:
            yield _skip("no-new-findings", 0, "findings", f"{which} has no findings: {reason}")
            return
    new = match_findings(before, now).new
    reason = ", ".join(f"{rule} x {count}" for rule, count in sorted(Counter(i.rule for i in new).items()))
    yield Gate(
        "no-new-findings",
        len(new),
        0,
        "findings",
        False,
        FAIL if new else PASS,
        f"new: {reason}" if new else f"all of {len(now.findings)} were there before",
        new,
    )


def _doubts(before: Saved, now: Saved) -> Iterator[str]:
    """What makes an earlier report a doubtful measure of this log."""
    from radixadvisor.analysis.comparable import doubts

    yield from doubts(before, now)
