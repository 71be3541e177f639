"""RA303 among messages: a system message that is put in anew in front of the latest turn, further back each
time.
"""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Place
from radixadvisor.diagnose.clusters import HEAD_ROLES
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import EditSpec, Message

__all__ = ["moving_messages"]


def moving_messages(view: LogView) -> Iterator[Candidate]:
    """System messages behind the head that stand elsewhere in a conversation's next request."""
    least = rule("RA303").threshold("least_characters")
    for cluster in view.clusters:
        moved: dict[Message, list[tuple[int, int]]] = {}
        last: dict[object, tuple[Message, ...]] = {}
        for index in cluster.requests:
            messages = view.request(index).messages or ()
            before = last.get(view.conversation(index), ())
            for at in range(cluster.head, len(messages)):
                message = messages[at]
                if message.role not in HEAD_ROLES or len(message.text) < least:
                    continue
                stayed = at < len(before) and before[at] is message
                if message in before[cluster.head :] and not stayed:
                    moved.setdefault(message, []).append((index, at))
            last[view.conversation(index)] = messages
        for message, places in moved.items():
            if len(places) > 1:
                yield _candidate(view, cluster.id, message, places)


def _candidate(view: LogView, cluster: int, message: Message, places: list[tuple[int, int]]) -> Candidate:
    index, at = places[0]
    return Candidate(
        rule="RA303",
        title="A system message that never changes moves further back with each turn",
        place=Place(view.request(index).id, f"messages[{at}].content", 0, len(message.text)),
        before=message.text,
        after=message.text,
        requests=tuple(index for index, _ in places),
        edit=EditSpec("pin_message", rule("RA303").safety, (cluster,), (("text", message.text),)),
    )
