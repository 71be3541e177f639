"""From a log and a choice of fixes to the rewritten log and its measurement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from radixadvisor.analysis.advice import advise
from radixadvisor.diagnose.view import LogView
from radixadvisor.errors import UsageError
from radixadvisor.ingest import Log
from radixadvisor.prescribe.variant import Variant, Workshop
from radixadvisor.records import Message, Request
from radixadvisor.results import Prescription
from radixadvisor.rewriting.choose import chosen
from radixadvisor.rewriting.files import write_log
from radixadvisor.rewriting.results import Change, Rewrite
from radixadvisor.trace import Trace

__all__ = ["rewrite_log"]


def rewrite_log(trace: Trace, log: Log, source: Path, out: Path, names: Sequence[str]) -> Rewrite:
    """Apply the named fixes to a log, write it, and tell what changed.

    Args:
        trace: the log, whole.
        log: where it was read from.
        source: the file.
        out: the file to write.
        names: rules, or ``all-safe``.

    Raises:
        UsageError: the log holds no prompts that could be changed.
        OutputError: the file cannot be written.
    """
    view = LogView(trace)
    if not view.has_text:
        raise UsageError(f"{source} holds no messages: there is no prompt to rewrite.")
    advice = advise(trace)
    made, left = chosen(names, advice.prescriptions, advice.checked)
    shop = Workshop(view)
    variant, changes = shop.base, []
    for fix in made:
        after = shop.with_edit(variant, fix.spec)
        change = _change(fix, trace, variant, after)
        if change is not None:
            changes.append(change)
        variant = after
    edits = {index: request for index, request in variant.requests.items() if _differs(trace, index, request)}
    dialect, why = write_log(source, out, log.dialect, trace.requests, edits)
    base = shop.base
    return Rewrite(
        file=str(out),
        read=log.dialect,
        dialect=dialect,
        why=why,
        requests=len(trace.requests),
        changed=len(edits),
        skipped=log.skips.total,
        changes=tuple(changes),
        left=left,
        prompt_tokens=(int(base.lengths.sum()), int(variant.lengths.sum())),
        served=(int(base.served.sum()), int(variant.served.sum())),
    )


def _differs(trace: Trace, index: int, request: Request) -> bool:
    return request is not trace.requests[index]


def _change(fix: Prescription, trace: Trace, before: Variant, after: Variant) -> Change | None:
    """What a fix changed beyond those above; None if nothing."""
    moved = [
        index
        for index, request in after.requests.items()
        if request is not before.requests.get(index, trace.requests[index])
    ]
    if not moved:
        return None
    index = min(moved, key=lambda number: trace.order.index(number) if len(moved) < 50 else number)
    old, new = before.requests.get(index, trace.requests[index]), after.requests[index]
    place, one, two = _first_difference(old, new)
    return Change(fix, len(moved), new.id, place, one, two)


def _first_difference(old: Request, new: Request) -> tuple[str, str, str]:
    if old.tools is not new.tools and old.tools is not None and new.tools is not None:
        pairs = zip(old.tools.tools, new.tools.tools, strict=False)
        for number, (one, two) in enumerate(pairs):
            if one.raw != two.raw:
                return f"tools[{number}]", one.raw, two.raw
    before, after = old.messages or (), new.messages or ()
    for number, (first, second) in enumerate(zip(before, after, strict=False)):
        if first is not second and (parted := _parted(first, second)) is not None:
            return (f"messages[{number}]", *parted)
    number = min(len(before), len(after))
    return (
        f"messages[{number}]",
        before[number].text if number < len(before) else "",
        after[number].text if number < len(after) else "",
    )


def _parted(first: Message, second: Message) -> tuple[str, str] | None:
    """Both texts from a little before where they part."""
    one, two = first.text, second.text
    if one == two:
        one, two = str(first.tool_calls or first.reasoning), str(second.tool_calls or second.reasoning)
    if one == two:
        return None
    at = next(
        (at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right),
        min(len(one), len(two)),
    )
    at = max(at - 12, 0)
    return one[at:], two[at:]
