"""Published conversations, one row each, as the requests that made them."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.records import Message, Request, Source

from .bodies import Context, position_id
from .conversations import expanded
from .raw import Raw, Unusable, object_of
from .turns import one_turn
from .view import View

__all__ = ["conversation_rows"]


def conversation_rows(row: View, turns: list[Raw], source: Source, context: Context) -> Iterator[Request]:
    """The requests of one row.

    Args:
        row: the row, for its id, model, user and time.
        turns: its conversation in any form.

    Raises:
        Unusable: it is empty, or nothing was generated in it.
    """
    if not turns:
        raise Unusable("no messages", "the conversation is empty")
    messages: list[Message] = []
    arrivals: list[float | None] = []
    for raw in turns:
        own = context.clock.read(View(object_of(raw)).get("timestamp"))
        found = context.interner.messages(one_turn(raw))
        messages += found
        arrivals += [own] * len(found)
    identity = row.text("conversation_id|conversation_hash|id") or position_id(source)
    base = Request(
        id=identity,
        source=source,
        model=row.text("model") or "",
        arrival=context.clock.read(row.get("timestamp|tstamp")),
        session=identity,
        user=row.text("hashed_ip|user_id|user"),
    )
    return expanded(messages, base, arrivals)
