"""The prompts of a log in the orders to replay: as given, with the fixes applied, with sections shuffled."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from radixadvisor.analysis.advice import advise
from radixadvisor.analysis.columns import requests_of
from radixadvisor.analysis.shuffled import shuffled
from radixadvisor.errors import UsageError
from radixadvisor.replaying.vocabulary import Ids
from radixadvisor.trace import TokenOptions, Trace

__all__ = ["GIVEN", "REWRITTEN", "SHUFFLED", "Order", "orders_of"]

GIVEN, REWRITTEN, SHUFFLED = "given", "rewritten", "shuffled"


@dataclass(frozen=True, slots=True)
class Order:
    """One form of the log: packed prompts in the model's ids, by request index. ``edits`` names the fixes in
    them.
    """

    name: str
    prompts: dict[int, bytes]
    edits: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Prompt tokens of all requests."""
        return sum(len(prompt) for prompt in self.prompts.values()) // array("i").itemsize


def orders_of(
    trace: Trace,
    chosen: Sequence[int],
    ids: Ids,
    *,
    rewritten: bool,
    shuffled_with: TokenOptions | None,
    seed: int,
) -> tuple[tuple[Order, ...], dict[str, str]]:
    """The orders, and why one is missing that was asked for.

    ``shuffled_with``: how shuffled prompts become tokens; None to leave them out.
    """
    missing = {}
    requests = requests_of(trace)
    found = [_order(GIVEN, ((index, requests.prompt(index)) for index in chosen), ids)]
    if rewritten:
        advice = advise(trace)
        if advice.trial is None:
            missing[REWRITTEN] = advice.missing["findings"]
        elif not advice.trial.applied:
            missing[REWRITTEN] = "no change of the text gains anything: the order as given stands"
        else:
            after = advice.trial.after.segments
            prompts = (
                (index, trace.pools[trace.pool_of[index]].prompt(after.get(index) or trace.segments[index]))
                for index in chosen
            )
            found.append(_order(REWRITTEN, prompts, ids, tuple(fix.title for fix in advice.prescriptions)))
    if shuffled_with is not None:
        try:
            other = shuffled(trace, shuffled_with, seed)
        except UsageError:
            missing[SHUFFLED] = "no prompt has two sections of text that could be shuffled"
        else:
            found.append(_order(SHUFFLED, ((index, other.prompt(index)) for index in chosen), ids))
    return tuple(found), missing


def _order(name: str, prompts: Iterable[tuple[int, bytes]], ids: Ids, edits: tuple[str, ...] = ()) -> Order:
    return Order(name, {index: ids.encode(prompt) for index, prompt in prompts}, edits)
