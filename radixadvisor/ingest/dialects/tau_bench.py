"""tau-bench's trajectories: OpenAI messages of whole tasks, without tools, times or usage."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.conversations import expanded
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Unusable, array_of, object_of
from radixadvisor.ingest.turns import chat_turns
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Tasks(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        turns = row.items("traj")
        if not turns:
            raise Unusable("no messages", "the trajectory is empty")
        task = f"{row.text('task_id') or source.line}.{row.text('trial') or 0}"
        base = Request(id=task, source=source, model=row.text("model") or "", session=task)
        return expanded(self.context.interner.messages(chat_turns(turns)), base)


def _sniff(record: Fields) -> Sign | None:
    if "traj" not in record:
        return None
    turns = array_of(record["traj"])
    if turns is None or (turns and "role" not in (object_of(turns[0]) or {})):
        return None
    return Sign(96, "traj of a tau-bench result")


DIALECT = Dialect("tau_bench", "tau-bench trajectories", _sniff, _Tasks)
