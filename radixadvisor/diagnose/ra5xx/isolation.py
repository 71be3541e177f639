"""RA503: identical prefixes that are kept apart on purpose."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.ra5xx.facts import Facts, Suspect
from radixadvisor.measure.hits import matches
from radixadvisor.measure.partners import partners

__all__ = ["isolation"]

_NAMES = {"lora": "LoRA adapters", "cache_salt": "cache salts", "extra_key": "extra keys"}


def isolation(facts: Facts) -> Iterator[Suspect]:
    """Tokens that another LoRA adapter or salt has cached for the same model."""
    import numpy as np

    order, requests = facts.trace.order, facts.trace.requests
    if not any(request.namespace for request in requests):
        return
    models = _numbers([f"{facts.trace.pool_of[index]}|{requests[index].model}" for index in order])
    spaces = _numbers([facts.trace.namespace(index) for index in order])
    unit = facts.trace.unit
    together = np.minimum(matches(facts.walks, models) * unit, facts.lengths)
    apart = np.minimum(matches(facts.walks, spaces) * unit, facts.lengths)
    lost = together - apart
    if not facts.worth("RA503", int(lost.sum())):
        return
    positions = lost.nonzero()[0]
    first = int(positions[0])
    owner = int(partners(facts.walks, models)[first])
    kinds = sorted({name for request in requests for name, _ in request.namespace})
    named = " and ".join(_NAMES.get(kind, kind) for kind in kinds)
    count = len({request.namespace for request in requests if request.namespace})
    yield Suspect(
        rule="RA503",
        profile=facts.world.name,
        title=f"{count} {named} keep identical prefixes apart; a correct loss, nothing to repair",
        place=facts.place(first, kinds[0]),
        before=_space(facts, first),
        after=f"the prefix is under {_space(facts, owner)}, left by {facts.request_id(owner)}",
        requests=facts.indices(positions),
        lost_tokens=int(lost.sum()),
    )


def _space(facts: Facts, position: int) -> str:
    """What separates a request, without the value of a salt, which is a secret."""
    named = facts.trace.requests[facts.trace.order[position]].namespace
    shown = [f"{name} {value}" if name == "lora" else f"a {name}" for name, value in named]
    return " and ".join(shown) or "no adapter or salt"


def _numbers(names: list[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
