"""Which dialect a log speaks, told from its first records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .dialect import Dialect
from .dialects import by_name, registry
from .raw import Fields, Unusable

__all__ = ["Detection", "detect"]

_FALLBACK = "openai_chat"


@dataclass(frozen=True, slots=True)
class Detection:
    """The dialect to read with, a sentence that says why, and the next best guess if there is one."""

    dialect: Dialect
    evidence: str
    second: str | None = None


def detect(sample: Sequence[Fields], forced: str | None = None) -> Detection:
    """The dialect of a log from its first records.

    Args:
        sample: the records that are JSON objects, in order.
        forced: the dialect that the user named.

    Raises:
        UnknownName: there is no dialect of the forced name.
    """
    if forced is not None:
        return Detection(by_name(forced), "named by the user")
    weights: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    evidence: dict[str, Counter[str]] = {}
    for record in sample:
        for name, dialect in registry().items():
            try:
                sign = dialect.sniff(record)
            except Unusable:
                continue
            if sign is not None:
                weights[name] += sign.weight
                seen[name] += 1
                evidence.setdefault(name, Counter())[sign.evidence] += 1
    ranked = sorted(weights, key=lambda name: (-weights[name], name))
    if not ranked:
        return Detection(by_name(_FALLBACK), f"no dialect was recognised in the first {len(sample)} records")
    best = ranked[0]
    second = ranked[1] if len(ranked) > 1 else None
    (reason, _), *_ = sorted(evidence[best].items(), key=lambda item: (-item[1], item[0]))
    sentence = f"{seen[best]} of the first {len(sample)} records: {reason}"
    return Detection(by_name(best), sentence, second)
