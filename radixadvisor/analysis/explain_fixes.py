"""What one request would match, or be served, if a prescription were followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.analysis.advice import Advice
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.variant import Variant, Workshop
from radixadvisor.results import Prescription
from radixadvisor.trace import Trace

__all__ = ["FixedMatch", "after_fixes", "after_serving"]

ALL = "all"


@dataclass(frozen=True, slots=True)
class FixedMatch:
    """A request after one prescription alone, or after all of the text (``id`` is ``all``): the tokens that
    it matches (or is served, where serving changes), and those of its prompt.
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
    prescriptions = [item for item in prescriptions if item.edit == "text"]
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
            found.append(FixedMatch(ALL, "All of the log's prescriptions for the text", "", *after))
    return tuple(found)


def after_serving(trace: Trace, index: int, advice: Advice) -> tuple[FixedMatch, ...]:
    """The changes of serving that alter what a request is served, each alone."""
    position = trace.order.index(index)
    found = []
    for item in advice.prescriptions:
        if item.id in advice.serving:
            before, after = advice.serving[item.id]
            if int(before.served[position]) != int(after.served[position]):
                tokens, length = int(after.served[position]), int(after.lengths[position])
                found.append(FixedMatch(item.id, item.title, item.safety, tokens, length))
    return tuple(found)
