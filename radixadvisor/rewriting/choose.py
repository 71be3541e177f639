"""Which prescriptions a user names: rules, ids of prescriptions, or all that are safe."""

from __future__ import annotations

from collections.abc import Sequence

from radixadvisor.diagnose.rules import rule, rules
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.results import CheckedRule, Prescription
from radixadvisor.rewriting.results import Left

__all__ = ["ALL_SAFE", "chosen", "named"]

ALL_SAFE = "all-safe"


def named(asked: str) -> tuple[str, ...]:
    """The names in ``RA101,RA201``, spelled as rules are.

    Raises:
        UsageError: nothing is named.
        UnknownName: a name is no rule, and not ``all-safe``.
    """
    found = []
    for name in (part.strip() for part in asked.split(",")):
        if not name:
            continue
        if name.lower() == ALL_SAFE:
            found.append(ALL_SAFE)
            continue
        try:
            found.append(rule(name).id)
        except UnknownName:
            raise UnknownName("rule to apply", name, (ALL_SAFE, *rules())) from None
    if not found:
        raise UsageError("--apply names what to change: rules such as RA101,RA201, or all-safe.")
    return tuple(dict.fromkeys(found))


def chosen(
    names: Sequence[str], prescriptions: Sequence[Prescription], checked: Sequence[CheckedRule]
) -> tuple[tuple[Prescription, ...], tuple[Left, ...]]:
    """The text changes to make, in the order of the report, and what is left out, with the reason.

    A change is made if one of its rules is named, or if it is safe and all of those are asked for: what needs
    a review is never made unnamed.
    """
    wanted = set(names)
    text = [item for item in prescriptions if item.edit == "text"]
    made = tuple(
        item for item in text if wanted & set(item.rules) or (ALL_SAFE in wanted and item.safety == "safe")
    )
    left = [Left(name, _unmade(name, made, prescriptions, checked)) for name in names if name != ALL_SAFE]
    left = [item for item in left if item.reason]
    for item in text:
        if item not in made:
            why = (
                "needs a review, so that it is made only by name" if item.safety != "safe" else "is not named"
            )
            left.append(Left(", ".join(item.rules), f"{item.title}: it {why}"))
    return made, tuple(left)


def _unmade(
    name: str,
    made: Sequence[Prescription],
    prescriptions: Sequence[Prescription],
    checked: Sequence[CheckedRule],
) -> str:
    """Why a rule that was named changes nothing; empty if it does."""
    if any(name in item.rules for item in made):
        return ""
    if any(name in item.rules and item.edit != "text" for item in prescriptions):
        return "is a change of serving, not of the prompts: a log cannot hold it"
    if any(item.rule == name for item in checked):
        return "was tried on this log and gains nothing"
    return "finds nothing in this log that a change of the prompts repairs"
