"""Codex' rollouts: items of a session, with the token count of each call behind it.

``cached_input_tokens`` is a part of ``input_tokens``. The same count is often written twice, and the one
after a compaction, which has no input, is no call. Tools are not stored.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, Unusable, array_of, label, object_of
from radixadvisor.ingest.rollouts import Rollout
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


class _Rollouts(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._open: Rollout | None = None

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        kind = label(record.get("type")) or ""
        payload = View(object_of(record.get("payload")))
        if kind not in _KINDS:
            raise Unusable("not a line of a rollout")
        if self._open is None or self._open.file != source.file:
            yield from self.finish()
            self._open = Rollout(self.context, source.file)
        rollout = self._open
        time = self.context.clock.read(record.get("timestamp"))
        if kind == "session_meta":
            rollout.session = payload.text("id|session_id") or rollout.session
            rollout.instructions(payload.get("base_instructions", "text") or payload.get("instructions"))
        elif kind == "turn_context":
            rollout.model = payload.text("model") or rollout.model
        elif kind == "compacted":
            replaced = payload.get("replacement_history")
            yield from rollout.compacted(array_of(replaced), payload.text("message"))
        elif kind == "response_item":
            yield from rollout.item(record.get("payload", Raw(b"{}")), payload, source, time)
        elif payload.text("type") == "token_count":
            yield from rollout.counted(payload.view("info"), source, time)
        else:
            yield from not_a_call(self.context, "events of the rollouts are no items")

    def finish(self) -> Iterable[Request | Skip]:
        if self._open is not None:
            yield from self._open.close()
        self._open = None


def _sniff(record: Fields) -> Sign | None:
    if label(record.get("type")) in _KINDS and "payload" in record:
        return Sign(97, f"type {label(record['type'])} and payload of a Codex rollout")
    return None


DIALECT = Dialect(
    "codex_rollout",
    "Codex rollouts",
    _sniff,
    _Rollouts,
    aliases=("codex",),
    missing="the lines hold token counts, but no items; name the rollouts themselves (~/.codex/sessions).",
)
