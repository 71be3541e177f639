"""What a user asks a check for, read from the command line; everything that is wrong with it at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from radixadvisor.analysis.measure import PROFILES
from radixadvisor.analysis.saved import UNLIMITED, Saved, read_report
from radixadvisor.diagnose.rules import rule, rules
from radixadvisor.errors import AdvisorError, UnknownName, UsageError
from radixadvisor.simulate.hosted_profiles import providers

if TYPE_CHECKING:
    from radixadvisor.analysis.lock.file import Lock

__all__ = ["LOSSES", "Asked", "Limit", "Wanted", "asked_of"]

LOSSES = ("capacity", "ttl", "replicas", "in_flight", "rounding", "isolation", "order", "elsewhere")
"""Buckets of the ledger that are losses: what was seen before and is computed again."""

GATES = (
    "--min-hit-rate 80%, --max-lost RA1xx=2%, --against report.json with --max-drop 2 or --no-new-findings, "
    "--lock prefix.lock"
)

_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_PATTERN = re.compile(r"RA[0-9X*?]{1,3}")

Given = TypeVar("Given")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be lost: ``rules`` by id or one ``bucket`` of the ledger, as tokens or as a share of
    the prompt tokens. ``wide`` is True for a pattern that stands for several rules.
    """

    name: str
    rules: tuple[str, ...]
    bucket: str | None
    tokens: int | None
    share: float | None
    wide: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Gates as given on the command line."""

    min_hit_rate: str | None = None
    profile: str | None = None
    max_lost: tuple[str, ...] = ()
    against: Path | None = None
    max_drop: str | None = None
    no_new_findings: bool = False
    lock: Path | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """Gates to evaluate. Rates and shares are fractions, ``max_drop`` too (0.02: two points)."""

    min_hit_rate: float | None
    profile: str | None
    limits: tuple[Limit, ...]
    against: Saved | None
    max_drop: float | None
    no_new_findings: bool
    lock: Lock | None
    strict: bool


def asked_of(wanted: Wanted, others: Iterable[Callable[[], object]] = ()) -> Asked:
    """Read what was asked for.

    Args:
        wanted: gates as given.
        others: checks of further options, each of which may raise an AdvisorError.

    Raises:
        UsageError: something cannot work; the sentence names everything that cannot.
    """
    from radixadvisor.analysis.lock.file import read_lock

    faults = _Faults()
    wrong = faults.sentences
    compared = wanted.max_drop is not None or wanted.no_new_findings
    if compared and wanted.against is None:
        option = "--no-new-findings" if wanted.max_drop is None else "--max-drop"
        wrong.append(f"{option} compares with an earlier report: give --against report.json too.")
    if wanted.against is not None and not compared:
        wrong.append("--against alone asks for nothing: give --max-drop POINTS or --no-new-findings too.")
    if wanted.strict and wanted.lock is None:
        wrong.append("--strict is about the applications of a lock: give --lock prefix.lock too.")
    limits = [faults.read(text, _limit) for text in wanted.max_lost]
    found = Asked(
        min_hit_rate=faults.read(wanted.min_hit_rate, _rate),
        profile=faults.read(wanted.profile, _profile),
        limits=tuple(limit for limit in limits if limit is not None),
        against=faults.read(wanted.against, read_report),
        max_drop=faults.read(wanted.max_drop, _points),
        no_new_findings=wanted.no_new_findings,
        lock=faults.read(wanted.lock, read_lock),
        strict=wanted.strict,
    )
    names = [limit.name for limit in found.limits]
    wrong += [f"--max-lost {name} is given twice." for name in dict.fromkeys(names) if names.count(name) > 1]
    gates = (wanted.min_hit_rate, wanted.against, wanted.max_drop, wanted.lock)
    if not (wanted.max_lost or wanted.no_new_findings) and all(gate is None for gate in gates):
        wrong.append(f"A check without a gate says nothing; there are: {GATES}.")
    for other in others:
        faults.read(other, lambda check: check())
    if wrong:
        raise UsageError(_all(wrong))
    return found


class _Faults:
    """What is wrong, one sentence after the other."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def read(self, given: Given | None, read: Callable[[Given], Value]) -> Value | None:
        """What ``read`` makes of a value that is given; None, with its sentence kept, where it cannot."""
        try:
            return None if given is None else read(given)
        except AdvisorError as error:
            self.sentences.append(str(error))
            return None


def _all(wrong: list[str]) -> str:
    """Everything that is wrong in one line."""
    if len(wrong) == 1:
        return wrong[0]
    listed = " ".join(f"({number}) {sentence}" for number, sentence in enumerate(wrong, start=1))
    return f"{len(wrong)} things are wrong: {listed}"


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _rate(text: str) -> float:
    value = _share(text.strip())
    if value is None or not 0 <= value <= 1:
        raise UsageError(f"--min-hit-rate {text!r} is no rate: write 0.8 or 80%.")
    return value


def _share(text: str) -> float | None:
    """A fraction, or a percentage with its sign."""
    if text.endswith("%"):
        number = _number(text[:-1].strip())
        return None if number is None else number / 100
    return _number(text)


def _points(text: str) -> float:
    value = _number(text.strip().removesuffix("%").removesuffix("points").strip())
    if value is None or value > 100:
        raise UsageError(f"--max-drop {text!r} is no number of points: 2 lets a rate of 80% fall to 78%.")
    return value / 100


def _profile(text: str) -> str:
    known = (UNLIMITED, *PROFILES, *providers())
    name = text.strip().lower()
    if name not in known:
        raise UnknownName("profile", text, known)
    return name


def _limit(text: str) -> Limit:
    name, equals, amount = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise UsageError(f"--max-lost {text!r} does not read NAME=AMOUNT, such as RA1xx=2% or RA101=5000.")
    tokens, share = _amount(text, amount)
    if name.lower() in LOSSES:
        return Limit(name.lower(), (), name.lower(), tokens, share, wide=False)
    if name.lower() == "all":
        return Limit("all", tuple(rules()), None, tokens, share, wide=True)
    if _PATTERN.fullmatch(name.upper()) and not name[2:].isdigit():
        pattern = name.upper().replace("X", "?")
        chosen = tuple(rule_id for rule_id in rules() if fnmatchcase(rule_id, pattern))
        if not chosen:
            raise UnknownName("rules", name, {f"{rule_id[:3]}xx" for rule_id in rules()})
        shown = f"RA{name[2:].lower()}"
        return Limit(shown, chosen, None, tokens, share, wide=True)
    try:
        found = rule(name).id
    except UnknownName:
        raise UnknownName("rule or bucket", name, (*rules(), *LOSSES, "all", "RA1xx")) from None
    return Limit(found, (found,), None, tokens, share, wide=False)


def _amount(text: str, amount: str) -> tuple[int | None, float | None]:
    """Tokens, or a share of the prompt tokens."""
    plain = amount.replace("_", "").replace(",", "")
    if plain.isascii() and plain.isdigit():
        return int(plain), None
    share = _share(amount) if amount.endswith("%") else None
    if share is None or share > 1:
        raise UsageError(
            f"--max-lost {text!r}: {amount!r} is neither a number of tokens, such as 5000, nor a share of "
            f"the prompt tokens, such as 2%."
        )
    return None, share
