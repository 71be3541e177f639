"""Frozen records made in a tenth of the time, for the few of which a log needs many.

A frozen dataclass sets each field by a call of ``object.__setattr__``, which is most of what a Request costs.
A draft has the same slots, takes plain assignments, and becomes the record when all are set.
"""

from __future__ import annotations

from typing import Any

from radixadvisor.records import Message, Output, Request, Source

__all__ = ["RequestDraft", "finished", "generated", "plain_message", "source_of"]


class RequestDraft:
    """To be given every field of a Request, then to ``finished``."""

    __slots__ = Request.__slots__


class _MessageDraft:
    __slots__ = Message.__slots__


class _SourceDraft:
    __slots__ = Source.__slots__


class _OutputDraft:
    __slots__ = Output.__slots__


def finished(draft: Any) -> Request:
    """The Request that a draft has become; the draft is no longer one."""
    draft.__class__ = Request
    record: Request = draft
    return record


def plain_message(role: str, content: str) -> Message:
    """``Message(role, content)``."""
    draft: Any = _MessageDraft()
    draft.role = role
    draft.content = content
    draft.tool_calls = ()
    draft.tool_call_id = draft.name = draft.reasoning = None
    draft.__class__ = Message
    record: Message = draft
    return record


def source_of(file: str, line: int) -> Source:
    """``Source(file, line)``."""
    draft: Any = _SourceDraft()
    draft.file = file
    draft.line = line
    draft.__class__ = Source
    record: Source = draft
    return record


def generated(message: Message, stopped: bool) -> Output:
    """``Output(message=message, stopped=stopped)``."""
    draft: Any = _OutputDraft()
    draft.message = message
    draft.text = draft.tokens = draft.length = None
    draft.stopped = stopped
    draft.__class__ = Output
    record: Output = draft
    return record
