"""SWE-agent's trajectories: one history, from which the prompt of each of its calls is rebuilt.

Newer ones keep each step's own messages, which are used where they are there. At run time a history
processor may have elided old observations; the raw history is then an upper bound of what was reused.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.conversations import expanded
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, Unusable, array_of, is_empty, label, object_of
from radixadvisor.ingest.turns import one_turn
from radixadvisor.ingest.view import View, encode, is_true
from radixadvisor.records import Message, Request, Skip, Source

__all__ = ["DIALECT"]

_MARKS = ("trajectory", "info", "environment", "replay_config")


class _Trajectory(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        history = array_of(record.get("history")) or []
        if not history:
            history = _steps(record)
        if not history:
            raise Unusable("no messages", "the trajectory has no history")
        messages: list[Message] = []
        generated: list[bool] = []
        for raw in history:
            fields = object_of(raw) or {}
            if label(fields.get("message_type")) == "thought" and "role" not in fields:
                continue
            turns = self.context.interner.messages(one_turn(_cleaned(fields, raw)))
            messages += turns
            generated += [not is_true(fields.get("is_demo"))] * len(turns)
        row = View(record)
        base = Request(
            id=row.text("instance_id") or f"{source.file}:{source.line}",
            source=source,
            model=row.text("info", "model_name") or row.text("replay_config", "agent", "model", "name") or "",
            session=row.text("instance_id") or f"{source.file}:{source.line}",
            app=row.text("environment"),
        )
        return expanded(messages, base, calls=generated)


def _cleaned(fields: Fields, raw: Raw) -> Raw:
    """A message without what only the agent keeps beside it."""
    kept = {key: value for key, value in fields.items() if key in ("role", "content") or not is_empty(value)}
    ids = array_of(kept.pop("tool_call_ids", None)) or []
    if ids and label(kept.get("role")) == "tool":
        kept.setdefault("tool_call_id", ids[0])
    known = ("role", "content", "tool_calls", "tool_call_id", "name", "cache_control")
    return encode({key: value for key, value in kept.items() if key in known}) if "role" in kept else raw


def _steps(record: Fields) -> list[Raw]:
    """The longest list of messages among the steps."""
    found: list[Raw] = []
    for raw in array_of(record.get("trajectory")) or ():
        step = object_of(raw) or {}
        listed = array_of(step.get("messages", step.get("query"))) or []
        found = listed if len(listed) > len(found) else found
    return found


def _sniff(record: Fields) -> Sign | None:
    history = array_of(record.get("history")) or (_steps(record) if "trajectory" in record else [])
    first = object_of(history[0]) if history else None
    if not first or "role" not in first:
        return None
    if "agent" in first or "message_type" in first or any(mark in record for mark in _MARKS):
        return Sign(96, "history of an SWE-agent trajectory")
    return None


DIALECT = Dialect("swe_agent_traj", "SWE-agent trajectory", _sniff, _Trajectory, aliases=("swe_agent",))
