"""Browser and proxy captures (HAR): the entries that called a language model, bodies in text or base64."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import body_in, not_a_call, payload, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Unusable, label, object_of
from radixadvisor.ingest.view import View, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_PATHS = (
    *("/chat/completions", "/completions", "/messages", "/responses", "/generate", "/api/chat"),
    *(":generatecontent", ":streamgeneratecontent", "/invoke", "/converse", "/inference"),
)
_BODIES = {"messages", "prompt", "input", "contents", "inputs", "inputText"}


class _Capture(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        entries = View(record).items("log", "entries") or View(record).items("entries")
        for raw in entries:
            entry = View(object_of(raw))
            if not _is_call(entry):
                yield from not_a_call(self.context, "entries are no model calls")
                continue
            try:
                yield from self._entry(entry, source)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)

    def _entry(self, entry: View, source: Source) -> Iterable[Request | Skip]:
        post, content = entry.view("request", "postData"), entry.view("response", "content")
        body = body_in(post.get("text"), base64_encoded=_encoded(post))
        if body is None:
            raise without_prompt(self.context, None, None)
        headers = [View(object_of(raw)) for raw in entry.items("response", "headers")]
        named = {(header.text("name") or "").lower(): header.get("value") for header in headers}
        wait = entry.number("timings", "wait")
        facts = joined(
            ("request_id", named.get("x-request-id") or named.get("request-id")),
            ("start_time", entry.get("startedDateTime")),
            ("latency_ms", entry.get("time")),
            ("ttft_ms", wait if wait is not None and wait >= 0 else None),
            ("status_code", entry.get("response", "status")),
            ("url", entry.get("request", "url")),
        )
        if entry.number("response", "status") == 0:  # a proxy that saw no answer
            facts.pop("status_code", None)
        try:
            answer = payload(content.get("text"), base64_encoded=_encoded(content))
        except Unusable:
            answer = None
        return read_foreign(body, answer, facts, source, self.context)


def _encoded(part: View) -> bool:
    return (part.text("encoding") or "").lower() == "base64"


def _is_call(entry: View) -> bool:
    """Whether an entry posted a prompt: by its address, or by the keys of its body."""
    if (entry.text("request", "method") or "POST").upper() != "POST":
        return False
    path = (entry.text("request", "url") or "").partition("?")[0].lower()
    if path.endswith(_PATHS) or any(step in path for step in _PATHS[:4]):
        return True
    post = entry.view("request", "postData")
    fields = object_of(post.get("text")) if not _encoded(post) else None
    return bool(fields) and "model" in (fields or {}) and not _BODIES.isdisjoint(fields or {})


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    entries = row.items("log", "entries") or row.items("entries")
    first = View(object_of(entries[0])) if entries else View({})
    if first.has("request") and first.has("startedDateTime|timings|response"):
        return Sign(96, f"log.entries of a HAR capture ({label(row.get('log', 'version')) or 'no version'})")
    return None


DIALECT = Dialect(
    "har_capture",
    "HTTP archive (HAR)",
    _sniff,
    _Capture,
    aliases=("har",),
    missing="the capture holds no request bodies; save it with content.",
)
