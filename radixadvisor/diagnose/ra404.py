"""Reasoning that earlier turns lose when the user speaks again: by the client, or by the chat template."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Detector, Place
from radixadvisor.diagnose.ra4xx import Histories, changed_in_place, histories
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.turns import Step, plain_text
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import Message

__all__ = ["DETECTORS"]


def reasoning_stripped(view: LogView) -> Iterator[Candidate]:
    """RA404: assistant turns lose their reasoning after they were sent with it."""
    title = "Reasoning is stripped from earlier {role} turns"
    yield from changed_in_place(view, "RA404", "reasoning", "requests", "keep_reasoning", title)
    for seen in histories(view):
        yield from _by_template(view, seen)


def _by_template(view: LogView, seen: Histories) -> Iterator[Candidate]:
    """The same done by the template: the log's text only grows, its prompts do not. No edit of the text
    undoes that, so the loss is measured: what the request before had and this one no longer matches.
    """
    limits = rule("RA404")
    lengths = view.trace.lengths
    losses: list[tuple[Step, int]] = []
    for step in seen.steps:
        before, after = seen.trace_index(step.before), seen.trace_index(step.after)
        if step.cut or step.changed or not _user_speaks(seen, step):
            continue
        tokens, _ = view.matches[after]
        if tokens + limits.threshold("tokens") < lengths[before]:
            losses.append((step, lengths[before] - tokens))
    lost = sum(tokens for _, tokens in losses)
    total = sum(lengths[index] for index in seen.cluster.requests)
    if len(losses) < limits.threshold("requests") or lost < limits.threshold("template_share") * total:
        return
    step = losses[0][0]
    messages = seen.requests[step.after].messages or ()
    index = next(place for place, message in enumerate(messages) if _reasoning(message))
    text = _reasoning(messages[index])
    yield Candidate(
        rule="RA404",
        title="The chat template strips reasoning from earlier assistant turns",
        place=Place(seen.requests[step.after].id, f"messages[{index}].content", 0, len(messages[index].text)),
        before=text,
        after=plain_text(messages[index]),
        requests=tuple(seen.trace_index(step.after) for step, _ in losses),
        edit=None,
        lost_tokens=lost,
    )


def _user_speaks(seen: Histories, step: Step) -> bool:
    """Whether the user speaks again behind turns with reasoning that were sent with it before."""
    old, new = seen.requests[step.before].messages or (), seen.requests[step.after].messages or ()
    last = max((place for place, message in enumerate(old) if message.role == "user"), default=-1)
    return any(message.role == "user" for message in new[len(old) :]) and any(
        _reasoning(message) for message in old[last + 1 :]
    )


def _reasoning(message: Message) -> str:
    if message.role != "assistant":
        return ""
    return message.reasoning or message.text[: len(message.text) - len(plain_text(message))]


DETECTORS: dict[str, Detector] = {"RA404": reasoning_stripped}
