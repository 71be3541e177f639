"""The guide's dialect works as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from radixadvisor.ingest.bodies import Context
from radixadvisor.ingest.dialect import Dialect
from radixadvisor.ingest.raw import parse
from radixadvisor.records import Request, Source

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-dialect.md"


def test_the_example_reads_a_log() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    body = code.split("\n\n\n", 1)[1]
    assert sum(bool(line.strip()) for line in body.splitlines()) <= 20
    space: dict[str, Dialect] = {}
    exec(compile(code, str(GUIDE), "exec"), space)  # the repository's own text
    dialect = space["DIALECT"]
    ask = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    record = parse(json.dumps({"acme": 1, "when": 1767225600, "who": "u", "ask": ask}).encode())
    assert dialect.sniff(record)
    (request,) = dialect.reader(Context()).read(record, Source("log", 1))
    assert isinstance(request, Request) and request.messages and request.messages[0].text == "Hi"
    assert (request.arrival, request.user) == (1767225600.0, "u")
