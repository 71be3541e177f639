"""A lock as gates: one for each locked application that is in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from radixadvisor.analysis.gate.results import FAIL, PASS, SKIP, Gate
from radixadvisor.analysis.lock.compare import HELD, Compared, Comparison
from radixadvisor.analysis.lock.file import Locked
from radixadvisor.analysis.lock.measured import Found
from radixadvisor.analysis.lock.prefixes import FEWEST, LEAST

__all__ = ["lock_gates", "lock_notes"]


def lock_gates(found: Comparison, *, strict: bool) -> tuple[Gate, ...]:
    """The gates of a lock.

    Locked applications that are not in the log, and applications that are not in the lock, fail with
    ``strict`` alone: a sample of the traffic may lack what is rare. Where no locked application is in the
    log, nothing was evaluated.
    """
    locked = [item.locked for item in found.compared] + list(found.vanished)
    names = _names(locked)
    gates = [_gate(item, names[id(item.locked)]) for item in found.compared]
    if strict:
        gates += [
            Gate(
                names[id(item)],
                0.0,
                HELD,
                "share",
                True,
                FAIL,
                "no request of this application is in the log",
            )
            for item in found.vanished
        ]
        gates += [
            Gate(
                f"lock {_new_name(item)}",
                _length(item),
                0,
                "tokens",
                False,
                FAIL,
                "a new application, which the lock does not hold",
            )
            for item in found.new
        ]
    if not gates:
        reason = "no locked application is in the log"
        gates.append(Gate("lock", None, len(locked), "applications", True, SKIP, reason))
    return tuple(gates)


def lock_notes(found: Comparison, *, strict: bool) -> Iterator[str]:
    """What a lock says beside its gates."""
    if strict:
        return
    if found.vanished:
        yield f"Locked, but not in this log: {_listed([item.label for item in found.vanished])}."
    if found.new:
        told = [f"{_new_name(item)} ({_length(item):,} tokens)" for item in found.new]
        yield f"New in this log, and not locked: {_listed(told)}. --strict lets that fail."


def _new_name(item: Found) -> str:
    return item.name or item.model or "unnamed"


def _length(item: Found) -> int:
    return 0 if item.prefix is None else item.prefix.tokens


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _names(locked: Sequence[Locked]) -> dict[int, str]:
    """A name for each gate; applications of one name are told apart by the hash of their prefix."""
    counts = Counter(item.label for item in locked)
    return {
        id(item): f"lock {item.label}" + (f" {item.prefix.hash[:6]}" if counts[item.label] > 1 else "")
        for item in locked
    }


def _gate(item: Compared, name: str) -> Gate:
    if item.share is None:
        reason = f"locked in tokens of {item.locked.tokenizer}, which this log is not read with"
        return Gate(name, None, HELD, "share", True, SKIP, reason)
    status = PASS if item.holds else FAIL
    return Gate(name, item.share, HELD, "share", True, status, _reason(item), source=item.source)


def _reason(item: Compared) -> str:
    tokens = f"{item.locked.prefix.tokens:,}"
    conversations = f"{item.conversations:,} conversation{'s' * (item.conversations != 1)}"
    if item.holds:
        return f"{tokens} static tokens begin the prompts of {conversations}"
    if item.now_tokens is not None:
        now = f"{item.now_tokens:,} now"
    elif item.conversations < FEWEST:
        now = "not told by so few conversations now"
    else:
        now = f"fewer than {LEAST} of its own text now"
    shared = "" if item.shared_tokens is None else f" after {item.shared_tokens:,} tokens"
    parts = [
        f"static prefix {tokens} tokens when locked, {now}",
        f"differs{shared} in {item.place}",
        *item.changes,
    ]
    return "; ".join(parts)
