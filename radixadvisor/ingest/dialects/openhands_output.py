"""OpenHands' output: events of a task, from which the prompt of each call is rebuilt.

Usage and latencies stand apart, joined by the id of the response. A condenser may have cut the history that
the model saw.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.events import Task, is_event, pairs_of
from radixadvisor.ingest.raw import Fields, Unusable, array_of, object_of
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Output(Reader):
    """Reads tasks; bare events, one a record, are gathered file by file."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._open: Task | None = None

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        if is_event(record):
            if self._open is None or self._open.source.file != source.file:
                yield from self.finish()
                self._open = Task(View({}), source, self.context)
            yield from self._open.event(record)
            return
        row = View(record)
        history = array_of(record.get("history"))
        if not history:
            raise Unusable("no messages", "the task has no history")
        task = Task(row, source, self.context)
        found = [request for raw in pairs_of(history) for request in task.event(object_of(raw) or {})]
        found += task.finish()
        if not found:
            raise Unusable("no assistant turn", "the task has no call of a model")
        yield from found

    def finish(self) -> Iterable[Request | Skip]:
        if self._open is not None:
            yield from self._open.finish()
        self._open = None


def _sniff(record: Fields) -> Sign | None:
    if is_event(record):
        return Sign(94, "an event of OpenHands")
    history = array_of(record.get("history"))
    if history is None:
        return None
    first = next(iter(pairs_of(history)), None)
    if history and not is_event(object_of(first) or {}):
        return None
    if history or "instance_id" in record or "instruction" in record:
        return Sign(96, "history of an OpenHands task")
    return None


DIALECT = Dialect("openhands_output", "OpenHands output", _sniff, _Output, aliases=("openhands",))
