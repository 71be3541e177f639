"""SGLang's request log in JSON, and its request dumps: what was received and what was finished.

Level 2 cuts long prompts in the middle; such prompts are no evidence and are skipped. Levels 0 and 1 have
none.
"""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import not_a_call
from radixadvisor.ingest.dialect import Dialect, Sign
from radixadvisor.ingest.raw import Fields, label, object_of
from radixadvisor.ingest.sglang_requests import Requests
from radixadvisor.ingest.view import View
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]


class _Log(Requests):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        event = row.text("event") or ""
        obj, out = object_of(row.get("obj")) or {}, object_of(row.get("out")) or {}
        identity = row.text("rid") or label(obj.get("rid")) or View(out).text("meta_info", "id") or ""
        clock = self.context.clock
        if event.endswith("received"):
            self.received(identity, obj, source, clock.read(row.get("timestamp")))
            return ()
        if not obj and not out:
            return not_a_call(self.context)
        began = clock.read(row.get("created_time"))
        if began is not None:
            self.received(identity, obj, source, began)
        return self.finished(identity, obj, out, source, clock.read(row.get("finish_time|timestamp")))


def _sniff(record: Fields) -> Sign | None:
    if "sglang_dump" in record:
        return Sign(98, "a request of an SGLang dump")
    event = label(record.get("event")) or ""
    if event.startswith("request.") and ("obj" in record or "rid" in record):
        return Sign(97, "event and obj of SGLang's request log")
    return None


DIALECT = Dialect(
    "sglang_log_requests_json",
    "SGLang request log (JSON) and request dumps",
    _sniff,
    _Log,
    aliases=("sglang", "sglang_json", "sglang_dump"),
    missing="levels 0 and 1 log no prompts; start SGLang with --log-requests --log-requests-level 3.",
)
