"""OpenAI's Responses API: ``input`` items instead of messages, and chains by ``previous_response_id``.

A request that continues a chain holds only its new items. What came before is rebuilt from the earlier
requests and responses of the log, without their instructions, which are not inherited. A chain whose
beginning is not in the log gives no prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.calls import payload, read_foreign
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.names import shape
from radixadvisor.ingest.raw import Fields, Unusable, array_of, embedded, is_null, label, object_of
from radixadvisor.ingest.view import View, encode
from radixadvisor.records import Message, Request, Skip, Source

__all__ = ["DIALECT"]

_ITEMS = ("message", "function_call", "function_call_output", "reasoning", "custom_tool_call")
_DEEPEST = 3


class _Call(NamedTuple):
    body: Fields
    around: Fields
    answer: View


class _Waiting(NamedTuple):
    request: Request
    response: str | None
    leading: int


def _located(record: Fields, around: Fields, depth: int = 0) -> Iterator[_Call]:
    """The bodies in a record that have an input, with what stands around them."""
    if "input" in record or "previous_response_id" in record:
        row = View(around or record)
        answer = payload(row.get("response|response_body|output|result"))
        inner = View({"answer": answer}).view("answer") if answer is not None else View({})
        yield _Call(record, around, inner if inner.get("output|usage|id") else View(record))
    for key in shape(record).bodies if depth < _DEEPEST else ():
        below = object_of(record[key]) if key != "input" else None
        if below is not None:
            yield from _located(below, {**around, **record}, depth + 1)


class _Responses(Reader):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._chains: dict[str, tuple[tuple[Message, ...], str]] = {}
        self._waiting: dict[str, list[_Waiting]] = {}

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        call = next(_located(record, {}), None)
        if call is None:
            raise Unusable("no messages", "the record has no input")
        body = {**call.body}
        if is_null(body.get("input")):
            body["input"] = encode([])
        previous = label(body.pop("previous_response_id", None))
        conversation = body.get("conversation")
        thread = label(conversation) or label((object_of(conversation) or {}).get("id"))
        held = {key: value for key, value in body.items() if key not in ("output", "usage", "conversation")}
        if (items := array_of(held["input"])) is not None and not items:
            held["input"] = encode("")
        facts = {key: value for key, value in call.around.items() if key not in shape(call.around).bodies}
        whole = encode(call.answer.fields) if call.answer else None
        answer = whole if call.answer.has("output") else None
        usage = call.answer.get("usage")
        if usage is not None:
            facts["usage"] = usage
        created = call.answer.get("created_at|created")
        if created is not None and not facts.keys() & {"timestamp", "created_at", "start_time", "time"}:
            facts["created_at"] = created
        identity = call.answer.text("id")
        if identity is not None:
            facts.setdefault("request_id", encode(identity))
        found = read_foreign(held, answer, facts, source, self.context)
        leading = int("instructions" in body and not is_null(body["instructions"]))
        for request in found:
            if not isinstance(request, Request):
                yield request
                continue
            request = _with_messages(request)
            key = previous or (f"conversation {thread}" if thread else None)
            if key is None or (key not in self._chains and previous is None):
                yield from self._told(request, (), identity, leading, thread)
            elif key in self._chains:
                history, session = self._chains[key]
                request = replace(request, session=request.session or session)
                yield from self._told(request, history, identity, leading, thread)
            else:
                self._waiting.setdefault(key, []).append(_Waiting(request, identity, leading))

    def _told(
        self,
        request: Request,
        history: tuple[Message, ...],
        response: str | None,
        leading: int,
        thread: str | None = None,
    ) -> Iterator[Request]:
        """A request with its history, and those that waited for it."""
        own = request.messages or ()
        messages = (*own[:leading], *history, *own[leading:])
        said = request.output.message if request.output else None
        after = (*messages[leading:], said) if said else messages[leading:]
        session = request.session or thread or response
        for key in (response, f"conversation {thread}" if thread else None):
            if key is not None:
                self._chains[key] = after, session or key
        yield replace(request, messages=messages, session=session)
        for waiting in self._waiting.pop(response, []) if response else ():
            later = replace(waiting.request, session=waiting.request.session or session)
            yield from self._told(later, after, waiting.response, waiting.leading)

    def finish(self) -> Iterable[Skip]:
        for previous, waiting in self._waiting.items():
            for request, *_ in waiting:
                detail = f"previous_response_id {previous} is not in the log"
                yield Skip(request.source, "incomplete chain", detail)


def _with_messages(request: Request) -> Request:
    """A text input as the turn of the user that it is."""
    if request.messages is not None or request.text is None:
        return request
    turn = () if not request.text else (Message("user", request.text),)
    return replace(request, text=None, messages=turn)


def _sniff(record: Fields) -> Sign | None:
    for call in _located(record, {}):
        body = call.body
        if not is_null(body.get("messages")):
            continue
        if "previous_response_id" in body or ("instructions" in body and "input" in body):
            return Sign(94, "input beside instructions or a previous_response_id")
        if label(call.answer.get("object")) == "response" and "input" in body:
            return Sign(94, "input beside a response object")
        listed = [*(array_of(body.get("input")) or ()), *call.answer.items("output")]
        kinds = (label((object_of(each) or {}).get("type")) for each in listed if embedded(each))
        if any(kind in _ITEMS for kind in kinds):
            return Sign(94, "items of the Responses API")
    return None


DIALECT = Dialect("openai_responses", "OpenAI Responses API requests", _sniff, _Responses)
