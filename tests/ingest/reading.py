"""Helpers: write a log, read it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from radixadvisor.ingest import Log, read_log
from radixadvisor.records import Request, Skip


class Read(NamedTuple):
    requests: list[Request]
    skips: list[Skip]
    log: Log


def read_bytes(folder: Path, data: bytes, name: str = "log.jsonl", **options: Any) -> Read:
    path = folder / name
    path.write_bytes(data)
    return read_paths(path, **options)


def read_paths(paths: Any, **options: Any) -> Read:
    log = read_log(paths, **options)
    records = list(log)
    requests = [record for record in records if isinstance(record, Request)]
    skips = [record for record in records if isinstance(record, Skip)]
    assert (log.requests, log.skips.total) == (len(requests), len(skips))
    return Read(requests, skips, log)


def read_records(folder: Path, *records: Any, **options: Any) -> Read:
    return read_bytes(folder, b"".join(json.dumps(record).encode() + b"\n" for record in records), **options)


def one(folder: Path, record: Any, **options: Any) -> Request:
    read = read_records(folder, record, **options)
    assert [skip.reason for skip in read.skips] == []
    (request,) = read.requests
    return request


def plain(request: Request) -> dict[str, Any]:
    """A request as comparable values: messages and tools by their content instead of their identity."""
    fields: dict[str, Any] = {
        name: getattr(request, name) for name in Request.__dataclass_fields__ if name != "source"
    }
    fields["messages"] = request.messages and [fields_of(message) for message in request.messages]
    fields["tools"] = request.tools and [(tool.name, tool.raw) for tool in request.tools.tools]
    if request.output is not None and request.output.message is not None:
        fields["output"] = fields_of(request.output.message), request.output.stopped
    return fields


def fields_of(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
