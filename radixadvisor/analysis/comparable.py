"""Whether two reports can be compared, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.analysis.saved import Saved

__all__ = ["doubts", "left_alone", "mix_distance", "renamed"]

_FAR = 0.3
_LONGER = 3.0
_FEW = 2
_REST = "rest"


def doubts(before: Saved, after: Saved) -> Iterator[str]:
    """Sentences, each of them about one difference that is not the prompts' own."""
    if before.version != after.version:
        yield (
            f"The reports come from versions {before.version} and {after.version}: rules and counts may "
            f"differ for that reason alone."
        )
    if before.unit != after.unit:
        yield f"The reports count in units of {before.unit} and {after.unit} tokens."
    elif set(before.tokenizers) != set(after.tokenizers):
        yield (
            f"Prompts were tokenized differently: {_tokenizers(before)} before, {_tokenizers(after)} after; "
            f"tokens are not the same unit."
        )
    if before.headline != after.headline:
        yield f"The headline profile was {before.headline} and is {after.headline}."
    if before.models and after.models and before.models != after.models:
        yield f"The logs name other models: {_listed(before.models)} before, {_listed(after.models)} after."
    distance = mix_distance(before, after)
    if distance is not None and distance > _FAR:
        yield (
            f"The traffic is another one: {distance:.0%} of the prompt tokens went to other applications; "
            f"figures of the whole log compare different things."
        )
    longer = max(before.requests, after.requests) / min(before.requests, after.requests)
    if longer > _LONGER:
        yield (
            f"The logs hold {before.requests:,} and {after.requests:,} requests: in a longer log more is "
            f"repeated."
        )


def mix_distance(before: Saved, after: Saved) -> float | None:
    """Half the sum of the differences between the applications' shares of the prompt tokens: 0 for the same
    mix, 1 for nothing in common. None where a report does not tell applications.

    Those of one or two requests count as one. Where one application without a name is missing on either side,
    the two are taken for the same with another text.
    """
    shares = [_shares(report) for report in (before, after)]
    if not all(shares):
        return None
    alone = left_alone(before, after)
    if renamed(before, after):
        shares[1][alone[0][0]] = shares[1].pop(alone[1][0])
    names = sorted(shares[0].keys() | shares[1].keys())
    return sum(abs(shares[0].get(name, 0.0) - shares[1].get(name, 0.0)) for name in names) / 2


def left_alone(before: Saved, after: Saved) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of the applications of more than two requests that one report has and the other, at any size, has
    not.
    """
    every = [{item.id for item in report.applications} for report in (before, after)]
    large = [{item.id for item in report.applications if item.requests > _FEW} for report in (before, after)]
    return tuple(sorted(large[0] - every[1])), tuple(sorted(large[1] - every[0]))


def renamed(before: Saved, after: Saved) -> bool:
    """Whether the one application that is missing on either side is the same with another text: the log names
    neither.
    """
    alone = left_alone(before, after)
    named = {item.id for report in (before, after) for item in report.applications if item.name}
    return len(alone[0]) == len(alone[1]) == 1 and not named & {*alone[0], *alone[1]}


def _shares(report: Saved) -> dict[str, float]:
    total = sum(item.prompt_tokens for item in report.applications)
    found: dict[str, float] = {}
    for item in report.applications if total else ():
        name = item.id if item.requests > _FEW else _REST
        found[name] = found.get(name, 0.0) + item.prompt_tokens / total
    return found


def _tokenizers(report: Saved) -> str:
    return ", ".join(f"{name} with {template}" for name, template in report.tokenizers) or "not at all"


def _listed(names: frozenset[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
