"""Histories that do not just grow: cut in front, rewritten, cut short, or sent back other than generated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from radixadvisor.diagnose.candidate import Candidate, Detector, Place
from radixadvisor.diagnose.clusters import Cluster
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.turns import Step, change_of, parting, reply_index, same_reply, spellings, steps
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import EditSpec, Message, Request

__all__ = ["DETECTORS", "Histories", "changed_in_place", "histories"]


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """An application's requests in order of arrival, the steps of its conversations, and for each step the
    kinds of its changes in place.
    """

    cluster: Cluster
    requests: tuple[Request, ...]
    steps: tuple[Step, ...]
    changes: tuple[tuple[str, ...], ...]

    def trace_index(self, position: int) -> int:
        return self.cluster.requests[position]


_KNOWN: WeakKeyDictionary[LogView, tuple[Histories, ...]] = WeakKeyDictionary()


def histories(view: LogView) -> tuple[Histories, ...]:
    found = _KNOWN.get(view)
    if found is None:
        found = _KNOWN[view] = tuple(_follow(view, cluster) for cluster in view.clusters)
    return found


def _follow(view: LogView, cluster: Cluster) -> Histories:
    requests = tuple(view.request(index) for index in cluster.requests)
    followed = tuple(steps(requests))
    changes = tuple(_changes(step, requests) for step in followed)
    return Histories(cluster, requests, followed, changes)


def _changes(step: Step, requests: tuple[Request, ...]) -> tuple[str, ...]:
    """The kind of each change in place; the system's and the last turn's belong to other rules."""
    old, new = requests[step.before].messages or (), requests[step.after].messages or ()
    return tuple(
        "other"
        if old[index].role in ("system", "developer") or (index == len(old) - 1 and old[index].role == "user")
        else change_of(old[index], new[index])
        for index in step.changed
    )


def _spec(number: str, cluster: Cluster, kind: str, **parameters: str) -> EditSpec:
    return EditSpec(kind, rule(number).safety, (cluster.id,), tuple(sorted(parameters.items())))


def _place(request: Request, index: int, start: int = 0) -> Place:
    text = (request.messages or ())[index].text
    return Place(request.id, f"messages[{index}].content", min(start, len(text)), len(text))


def trimmed(view: LogView) -> Iterator[Candidate]:
    """RA401: the oldest turns vanish in most steps once they begin to."""
    limits = rule("RA401")
    for seen in histories(view):
        cuts = [step for step in seen.steps if step.cut]
        if len(cuts) < limits.threshold("cuts") or len(cuts) < limits.threshold("share") * _since(seen, cuts):
            continue
        pinned = Counter(step.kept for step in cuts).most_common(1)[0][0]
        first = next(step for step in cuts if step.kept == pinned)
        old, new = seen.requests[first.before].messages or (), seen.requests[first.after].messages or ()
        windows = [len(seen.requests[step.after].messages or ()) - pinned for step in cuts]
        starts = sorted({(seen.requests[step.after].messages or ())[pinned].role for step in cuts} - {"tool"})
        size = max(int(max(windows) * (1 - limits.threshold("keep"))), 2)
        yield Candidate(
            rule="RA401",
            title=f"The history is cut to {max(windows)} messages in every request",
            place=_place(seen.requests[first.after], pinned),
            before=_evidence(old[pinned], 0),
            after=_evidence(new[pinned], 0),
            requests=tuple(seen.trace_index(step.after) for step in cuts),
            edit=_spec(
                "RA401",
                seen.cluster,
                "trim_in_batches",
                pinned=str(pinned),
                starts=",".join(starts or ["user"]),
                step=str(size),
            ),
        )


def _since(seen: Histories, events: list[Step]) -> int:
    """Steps of the conversations with such events, from the first event of each on."""
    chains: dict[int, int] = {}
    count = 0
    begun: set[int] = set()
    marked = {step.after for step in events}
    for step in seen.steps:
        chain = chains[step.after] = chains.get(step.before, step.before)
        if step.after in marked:
            begun.add(chain)
        count += chain in begun
    return count


def changed_in_place(
    view: LogView, number: str, kind: str, least: str, edit: str, title: str, **parameters: str
) -> Iterator[Candidate]:
    """Candidates of a rule for messages that became others in place, by the kind of change; ``least`` names
    the threshold for the number of steps that show it.
    """
    limits = rule(number)
    share = dict(limits.thresholds).get("share", 0.0)
    for seen in histories(view):
        events = [step for step, kinds in zip(seen.steps, seen.changes, strict=True) if kind in kinds]
        if len(events) < limits.threshold(least) or len(events) < share * _since(seen, events):
            continue
        first = events[0]
        kinds = seen.changes[seen.steps.index(first)]
        index = first.changed[kinds.index(kind)]
        old = (seen.requests[first.before].messages or ())[index]
        new = (seen.requests[first.after].messages or ())[index]
        start = parting(old.text, new.text)
        yield Candidate(
            rule=number,
            title=title.format(role=old.role),
            place=_place(seen.requests[first.after], index, start),
            before=_evidence(old, start),
            after=_evidence(new, start),
            requests=tuple(seen.trace_index(step.after) for step in events),
            edit=_spec(number, seen.cluster, edit, **parameters),
        )


def rewritten(view: LogView) -> Iterator[Candidate]:
    """RA402: old messages become others, step by step."""
    batch = str(int(rule("RA402").threshold("batch")))
    title = "Old {role} messages are replaced a few at a time"
    return changed_in_place(view, "RA402", "rewritten", "rewrites", "rewrite_in_batches", title, batch=batch)


def cut_elsewhere(view: LogView) -> Iterator[Candidate]:
    """RA403: a message is cut at one length, then at another."""
    title = "A {role} message is cut at another length"
    return changed_in_place(view, "RA403", "truncated", "requests", "cut_once", title)


def replay_differs(view: LogView) -> Iterator[Candidate]:
    """RA405: a reply comes back in another spelling than it was generated in, or than it was sent before."""
    for seen in histories(view):
        found: list[tuple[Step, int, Message]] = []
        for step, kinds in zip(seen.steps, seen.changes, strict=True):
            index = reply_index(step, seen.requests)
            output = seen.requests[step.before].output
            reply = output.message if output is not None else None
            new = seen.requests[step.after].messages or ()
            if reply is not None and index is not None and _respelled(reply, new[index]):
                found.append((step, index, reply))
            elif "arguments" in kinds:
                changed = step.changed[kinds.index("arguments")]
                found.append((step, changed, (seen.requests[step.before].messages or ())[changed]))
        if len(found) < rule("RA405").threshold("requests"):
            continue
        step, index, reply = found[0]
        new_message = (seen.requests[step.after].messages or ())[index]
        calls = reply.text == new_message.text
        start = len(reply.text) if calls else parting(reply.text, new_message.text)
        place = _place(seen.requests[step.after], index, start)
        if calls:
            path = f"messages[{index}].tool_calls[0].function.arguments"
            place = Place(place.request_id, path, 0, len(new_message.tool_calls[0].arguments))
        yield Candidate(
            rule="RA405",
            title="Replies are sent back in another form than they were generated in",
            place=place,
            before=_evidence(reply, start),
            after=_evidence(new_message, start),
            requests=tuple(seen.trace_index(step.after) for step, _, _ in found),
            edit=_spec("RA405", seen.cluster, "replay_verbatim"),
        )


def _respelled(reply: Message, message: Message) -> bool:
    return change_of(reply, message) in ("arguments", "whitespace") and same_reply(reply, message)


def whitespace_drift(view: LogView) -> Iterator[Candidate]:
    """RA407: one message in several spellings of its whitespace or letters."""
    for seen in histories(view):
        known: dict[tuple[object, ...], Message] = {}
        differing = []
        first: tuple[Request, int, Message] | None = None
        for position, keys in enumerate(spellings(seen.requests)):
            request = seen.requests[position]
            drifts = False
            for index, (message, key) in enumerate(zip(request.messages or (), keys, strict=True)):
                usual = known.setdefault(key, message)
                if usual is not message and usual.content != message.content:
                    drifts = True
                    first = first or (request, index, usual)
            if drifts:
                differing.append(seen.trace_index(position))
        if first is None or len(differing) < rule("RA407").threshold("requests"):
            continue
        request, index, usual = first
        message = (request.messages or ())[index]
        start = parting(usual.text, message.text)
        yield Candidate(
            rule="RA407",
            title=f"The same {message.role} text comes in several forms of whitespace",
            place=_place(request, index, start),
            before=usual.text[start:],
            after=message.text[start:],
            requests=tuple(differing),
            edit=_spec("RA407", seen.cluster, "even_whitespace"),
        )


def _evidence(message: Message, start: int) -> str:
    """A message from a character of its text on, its calls behind it."""
    calls = "".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
    return f"{message.text[start:]}{calls}"


DETECTORS: dict[str, Detector] = {
    "RA401": trimmed,
    "RA402": rewritten,
    "RA403": cut_elsewhere,
    "RA405": replay_differs,
    "RA407": whitespace_drift,
}
