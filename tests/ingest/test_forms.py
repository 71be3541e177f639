"""Each example of a log format: recognised, read with the stated fields, and so in every wrapping."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.ingest import read_log
from radixadvisor.records import Request
from tests.ingest.forms import FORMS
from tests.ingest.reading import Read, plain, read_bytes, read_paths

EXAMPLES = Path(__file__).parents[1] / "data" / "formats"


def stated(request: Request) -> dict[str, Any]:
    """Its fields, times to the millisecond, and the roles of its messages."""
    fields = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    for name in ("arrival", "latency", "ttft"):
        fields[name] = fields[name] and round(fields[name], 3)
    return {**fields, "roles": [message.role for message in request.messages or ()]}


def check(read: Read, name: str) -> None:
    form = FORMS[name]
    assert read.log.dialect == form.dialect
    assert dict(read.log.skips.reasons) == form.skips
    assert len(read.requests) == len(form.requests)
    for request, expected in zip(read.requests, form.requests, strict=True):
        assert {key: stated(request)[key] for key in expected} == expected


@pytest.mark.parametrize("name", FORMS)
def test_each_example_is_recognised_and_read(name: str) -> None:
    read = read_paths(EXAMPLES / name)
    check(read, name)
    assert read.log.evidence and read.log.second != read.log.dialect


@pytest.mark.parametrize("name", [name for name in FORMS if "json" in name])
def test_each_example_in_other_wrappings(tmp_path: Path, name: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    if name.endswith(".json"):
        whole = json.loads(data)
        records = whole if isinstance(whole, list) else [whole]
    else:
        records = [json.loads(line) for line in data.splitlines()]
    lines = "\n".join(json.dumps(record) for record in records).encode()
    nulls = [{**record, "nothing": None, "and": {}} for record in records if isinstance(record, dict)]
    for variant in (
        lines,
        json.dumps(records).encode(),
        json.dumps(records, indent=1, ensure_ascii=False).encode(),
        b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n") + b"\r\n",
        gzip.compress(lines),
        "\n".join(map(json.dumps, nulls)).encode(),
    ):
        check(read_bytes(tmp_path, variant, "log"), name)


@pytest.mark.parametrize("name", FORMS)
def test_named_formats_read_as_detected_ones(name: str) -> None:
    form = FORMS[name]
    detected = [plain(request) for request in read_paths(EXAMPLES / name).requests]
    log = read_log(EXAMPLES / name, format=form.dialect.replace("_", "-").upper())
    assert [plain(record) for record in log if isinstance(record, Request)] == detected


def test_the_examples_are_those_of_the_reference(shared: Path) -> None:
    for name in FORMS:
        reference = shared / "formats" / name
        if reference.exists():
            assert reference.read_bytes() == (EXAMPLES / name).read_bytes()
