"""Claude Code's transcripts: one API call stands on one to five lines, which share ``message.id`` and usage.

Prompts are rebuilt from the turns before; a compaction begins them anew. The system prompt and the tools are
not stored. ``output_tokens`` is what had been streamed when a line was written.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Unusable, array_of, label, object_of
from radixadvisor.ingest.transcripts import Session
from radixadvisor.ingest.view import is_true
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_KINDS = ("user", "assistant", "system", "progress", "summary", "file-history-snapshot", "queue-operation")
_SYNTHETIC = "<synthetic>"


class _Transcripts(Reader):
    """Reads transcripts; a call that several files hold counts once."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sessions: dict[str, Session] = {}
        self._seen: set[str] = set()

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        if (lines := array_of(record.get("loglines"))) is not None:
            for raw in lines:
                yield from self._line(object_of(raw) or {}, source)
            return
        yield from self._line(record, source)

    def _line(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        message = object_of(record.get("message")) or {}
        kind = label(record.get("type")) or label(message.get("role"))
        if kind is None or (kind in ("user", "assistant") and not message):
            raise Unusable("not a line of a transcript")
        session = self._session(record, source)
        time = self.context.clock.read(record.get("timestamp"))
        if kind == "system" and label(record.get("subtype")) == "compact_boundary":
            yield from session.compacted()
        elif kind == "user":
            yield from session.user(record, message, time)
        elif kind == "assistant" and label(message.get("model")) != _SYNTHETIC:
            yield from session.assistant(record, message, source, time, self._seen)
        else:
            yield from not_a_call(self.context, "lines of the transcripts are no turns")

    def _session(self, record: Fields, source: Source) -> Session:
        name = label(record.get("sessionId")) or source.file
        agent = label(record.get("agentId"))
        if agent is None and is_true(record.get("isSidechain")):
            agent = "sidechain"
        whole = name if agent is None else f"{name}/{agent}"
        if whole not in self._sessions:
            self._sessions[whole] = Session(self.context, whole)
        return self._sessions[whole]

    def finish(self) -> Iterable[Request | Skip]:
        for session in self._sessions.values():
            yield from session.close()


def _sniff(record: Fields) -> Sign | None:
    kind = label(record.get("type"))
    if "loglines" in record:
        return Sign(95, "loglines of a Claude Code session")
    if kind is not None and kind not in _KINDS:
        return None
    told = object_of(record.get("message")) if "message" in record else None
    if "sessionId" in record and ("uuid" in record or (told is not None and "role" in told)):
        return Sign(96, "sessionId and message of a Claude Code transcript")
    if kind in _KINDS and {"leafUuid", "parentUuid", "messageId", "snapshot"} & set(record):
        return Sign(96, f"a line of type {kind} of a Claude Code transcript")
    return None


DIALECT = Dialect(
    "claude_code_transcript",
    "Claude Code transcripts",
    _sniff,
    _Transcripts,
    aliases=("claude_code",),
    missing="the lines hold usage, but no turns; name the transcripts themselves (~/.claude/projects).",
)
