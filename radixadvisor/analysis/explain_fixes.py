"""What one request would match if a prescription were followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.variant import Variant, Workshop
from radixadvisor.results import Prescription
from radixadvisor.trace import Trace

__all__ = ["FixedMatch", "after_fixes"]

ALL = "all"


@dataclass(frozen=True, slots=True)
class FixedMatch:
    """A request after one prescription alone, or after all (``id`` is ``all``): the tokens that it matches,
    and those of its prompt.
    """

    id: str
    title: str
    safety: str
    tokens: int
    prompt_tokens: int


def after_fixes(trace: Trace, index: int, prescriptions: Sequence[Prescription]) -> tuple[FixedMatch, ...]:
    """Of a log's prescriptions those that change what a request matches or how long it is, then all together
    if there are several.
    """
    if not prescriptions:
        return ()
    shop = Workshop(LogView(trace))
    position = trace.order.index(index)

    def state(variant: Variant) -> tuple[int, int]:
        return int(variant.matched[position]), int(variant.lengths[position])

    unchanged = state(shop.base)
    found = []
    for item in prescriptions:
        after = state(shop.with_edit(shop.base, item.spec))
        if after != unchanged:
            found.append(FixedMatch(item.id, item.title, item.safety, *after))
    if len(prescriptions) > 1:
        after = state(shop.with_edits(shop.base, [item.spec for item in prescriptions]))
        if after != unchanged:
            found.append(FixedMatch(ALL, "All of the log's prescriptions", "", *after))
    return tuple(found)
