"""A server that shares prefixes and says nothing about it: only its times to first token show it.

The answers were recorded from ``transformers serve`` with continuous batching, which sends usage without
cached tokens, ends a stream without [DONE] and has no /metrics; the file says of what.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.endpoint.conduct import replay_endpoint
from radixadvisor.endpoint.options import EndpointOptions
from radixadvisor.endpoint.results import EndpointReplay, EndpointRow
from radixadvisor.endpoint.timing import SHARES, SILENT, UNSHARED, judged
from tests.endpoint.servers import Board, serving

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "transformers_serve.json").read_text(encoding="utf-8")
)
SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "rag-consistent.jsonl"


class Recorded(BaseHTTPRequestHandler):
    """Gives the recorded answers one after the other, each after its recorded time."""

    protocol_version = "HTTP/1.1"
    board: Board

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        found = self.path == "/v1/models"
        page = json.dumps(RECORDED["models"] if found else {"detail": "Not Found"}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = RECORDED["answers"][len(self.board.bodies)]
        self.board.bodies.append(body)
        role, _, rest = answer["stream"].partition("\n\n")
        self.send_response(200)
        self.send_header("Content-Type", RECORDED["content_type"])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunk(f"{role}\n\n")
        time.sleep(answer["ttft"])
        self._chunk(rest)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


@pytest.fixture(scope="module")
def found() -> EndpointReplay:
    with serving(Board(), Recorded) as board:
        trace, log = open_trace([str(SAMPLE)], AnalyzeOptions())
        return replay_endpoint(trace, log, EndpointOptions(board.url, limit=16, max_new=2))


def test_nothing_is_made_up(found: EndpointReplay) -> None:
    assert (found.answered, found.retried, found.engine) == (16, {}, "unknown")
    assert (found.reported, found.counted, found.before) == (None, None, None)
    assert found.not_evaluated == {
        "tokens.reported": "the server reports no cached tokens",
        "counters": "the server shows no counters of its cache",
    }
    assert found.predicted > 0.7 * found.prompt_tokens
    assert found.differences == ()
    assert all(row.reason == "" for row in found.rows)


def test_times_tell_what_the_server_does_not(found: EndpointReplay) -> None:
    assert any(warning.startswith("The server reports no cached tokens") for warning in found.warnings)
    assert any(warning.endswith(f"{SHARES}.") for warning in found.warnings)
    assert found.ttft["hit"] is not None and found.ttft["miss"] is not None
    assert found.ttft["hit"].count == 15
    assert found.ttft["miss"].p50 > 2 * found.ttft["hit"].p50


def with_times(rows: tuple[EndpointRow, ...], seconds: Any) -> list[EndpointRow]:
    return [replace(row, sent=replace(row.sent, ttft=seconds(row))) for row in rows]


def noise(row: EndpointRow) -> float:
    return (row.sent.index * 7 % 5) * 1e-4


def test_a_server_without_a_cache_is_not_said_to_share(found: EndpointReplay) -> None:
    # All prompts are about as long, so that without a cache every time is about the same.
    even = with_times(found.rows, lambda row: 0.5 + noise(row))
    assert next(judged(even)).endswith(f"{UNSHARED}.")


@pytest.mark.parametrize("shares", [True, False])
def test_longer_prompts_take_longer_in_any_case(shares: bool, found: EndpointReplay) -> None:
    grown = tuple(
        replace(row, prompt=row.prompt * (1 + place % 2), predicted=row.predicted)
        for place, row in enumerate(found.rows)
    )
    timed = with_times(grown, lambda row: (row.prompt - row.predicted * shares + 100) * 1e-3 + noise(row))
    assert next(judged(timed)).endswith(f"{SHARES if shares else UNSHARED}.")


def test_times_that_tell_nothing_are_not_read(found: EndpointReplay) -> None:
    few = with_times(found.rows[:5], lambda row: 0.5)
    assert "too few" in next(judged(few))
    alike = [replace(row, predicted=row.prompt - 30) for row in with_times(found.rows, noise)]
    assert "cannot tell" in next(judged(alike))
    slightly = with_times(found.rows, lambda row: 1 + 0.15 * (row.prompt - row.predicted > 100))
    assert next(judged(slightly)).endswith(f"{SILENT}.")
