"""AIPerf's input files: turns of sessions, each holding only what is new in it.

What a model answers between two turns is not in such a file, so a later prompt is the turns of the client
one after another, without the answers.
"""

from __future__ import annotations

from dataclasses import replace

from radixadvisor.records import Message, Output, Request, Skip, Source

from .bodies import Context, position_id, read_call
from .dialect import Reader
from .foreign import chat_body
from .locate import Call
from .raw import Fields, Raw, Unusable, array_of, first_byte, object_of, string
from .view import View, encode

__all__ = ["Turns"]

_MEDIA = ("image", "audio", "video")
_REMARK = "turns follow one whose answer the file does not hold; they are read without it"


class Turns(Reader):
    """Follows the sessions of a file."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sessions: dict[str, tuple[tuple[Message, ...], float | None, int]] = {}

    def turn(self, record: Fields, session: str | None, source: Source) -> list[Request | Skip]:
        """The request of one turn."""
        row = View(record)
        body = self._body(row)
        facts: Fields = {}
        found = read_call(Call(body, (facts,), Raw(b"null")), source, self.context)
        said, last, count = self._sessions.get(session or "", ((), None, 0))
        arrival = self._arrival(row, last)
        length = row.count("output_length|max_tokens|osl")
        result: list[Request | Skip] = []
        for request in found:
            if not isinstance(request, Request):
                result.append(request)
                continue
            own = request.messages
            if own is None and request.text is not None and session is not None:
                own = (Message("user", request.text),)
            if own is not None and said and not row.has("messages|payload"):
                own = (*said, *own)
                self.context.remarks[_REMARK] += 1
            if session is not None:
                self._sessions[session] = own or (), arrival, count + 1
            result.append(_made(request, own, session, count, arrival, length, source))
        return result

    def _arrival(self, row: View, last: float | None) -> float | None:
        if row.has("timestamp"):
            return self.context.clock.offset(row.get("timestamp"), "ms")
        delay = row.number("delay")
        return None if delay is None or last is None or delay < 0 else last + delay / 1e3

    def _body(self, row: View) -> Fields:
        payload = row.get("payload")
        if payload is not None:
            return chat_body(payload)
        if row.has("messages"):
            body = chat_body(encode({"messages": row.get("messages")}))
            tools = row.get("tools")
            return body if tools is None else {**body, "tools": tools}
        text = row.get("text_input|text|prompt")
        texts = [text] if text is not None else row.items("texts")
        media = [(kind, each) for kind in _MEDIA for each in _media(row, kind)]
        if not texts and not media:
            raise Unusable("no messages", "the turn has no text")
        words = [_words(each) for each in texts]
        if not media:
            return {"prompt": encode("\n".join(words))}
        parts = [{"type": "text", "text": word} for word in words]
        held = [{"type": kind, kind: {"url": string(each)}} for kind, each in media]
        return {"messages": encode([{"role": "user", "content": [*parts, *held]}])}


def _media(row: View, kind: str) -> list[Raw]:
    single = row.get(kind)
    return ([single] if single is not None else []) + row.items(f"{kind}s")


def _words(raw: Raw) -> str:
    """A text, or a named one with its contents."""
    fields = object_of(raw) if first_byte(raw) == 0x7B else None
    contents = array_of((fields or {}).get("contents")) or []
    if fields is not None and contents:
        return "\n".join(string(each) for each in contents)
    return string(raw)


def _made(
    request: Request,
    messages: tuple[Message, ...] | None,
    session: str | None,
    count: int,
    arrival: float | None,
    length: int | None,
    source: Source,
) -> Request:
    return replace(
        request,
        id=f"{session}#{count + 1}" if session else position_id(source),
        messages=messages if messages is not None else request.messages,
        text=None if messages is not None else request.text,
        output=Output(length=length) if length is not None else request.output,
        arrival=arrival,
        session=session,
    )
