"""A small server on localhost that speaks OpenAI's protocol, has a prefix cache, and fails on demand."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OK = "ok"
"""A behaviour of one attempt: what the server does with it."""

Script = Callable[[str, int], str]
"""From the last message of a request and the number of its attempt (from 0) to a behaviour."""


def fine(message: str, attempt: int) -> str:
    return OK


def always(behaviour: str) -> Script:
    return lambda message, attempt: behaviour


def first(behaviour: str, times: int = 1) -> Script:
    return lambda message, attempt: behaviour if attempt < times else OK


@dataclass
class Board:
    """How a server behaves, and what it saw.

    ``page`` is that of its cache; ``report`` whether it tells cached tokens; ``zeros`` whether also where
    there are none; ``tell_tokens`` whether it tokenizes as vLLM does, all but the message
    ``untold``; ``hold`` how long it hangs.
    """

    script: Script = fine
    page: int = 16
    report: bool = True
    zeros: bool = False
    tell_tokens: bool = True
    untold: str = ""
    metrics: bool = True
    models: tuple[str, ...] | None = ("served",)
    hold: float = 1.0
    attempts: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    behaviours: Counter[str] = field(default_factory=Counter)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    open: int = 0
    most_open: int = 0
    hits: int = 0
    queries: int = 0
    held: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)
    url: str = ""


def tokens_of(body: dict[str, Any]) -> bytes:
    """Every byte of the messages is a token."""
    return "".join(f"<{one['role']}>{one['content']}" for one in body["messages"]).encode() + b"<assistant>"


def cached_by_rule(held: list[bytes], prompt: bytes, page: int) -> int:
    """Whole pages of the longest beginning that an earlier prompt has, without the last token."""
    most = 0
    for earlier in held:
        size = 0
        while size < min(len(earlier), len(prompt) - 1) and earlier[size] == prompt[size]:
            size += 1
        most = max(most, size)
    return most - most % page


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    board: Board

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        board = self.board
        if self.path == "/v1/models" and board.models is not None:
            self._json(200, {"data": [{"id": name} for name in board.models]})
        elif self.path == "/metrics" and board.metrics:
            page = (
                f'vllm:cache_config_info{{block_size="{board.page}"}} 1\n'
                f'vllm:prefix_cache_hits_total{{engine="0"}} {board.hits}\n'
                f'vllm:prefix_cache_queries_total{{engine="0"}} {board.queries}\n'
            )
            self._send(200, page.encode(), "text/plain")
        else:
            self._json(404, {"error": "none"})

    def do_POST(self) -> None:
        board = self.board
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            if board.tell_tokens and body["messages"][-1]["content"] != board.untold:
                self._json(200, {"tokens": list(tokens_of(body))})
            else:
                self._json(404, {})
            return
        message = body["messages"][-1]["content"]
        with board.lock:
            attempt = board.attempts[message]
            board.attempts[message] += 1
            board.headers.append(dict(self.headers.items()))
            board.bodies.append(body)
            board.open += 1
            board.most_open = max(board.most_open, board.open)
        behaviour = board.script(message, attempt)
        with board.lock:
            board.behaviours[behaviour] += 1
        try:
            self._answer(behaviour, body, message)
        finally:
            with board.lock:
                board.open -= 1

    def _answer(self, behaviour: str, body: dict[str, Any], message: str) -> None:
        board = self.board
        if behaviour == "429":
            self._json(429, {"error": "slow down"}, {"Retry-After": "0.02"})
        elif behaviour.isdigit():
            self._json(int(behaviour), {"error": str(dict(self.headers.items()))})
        elif behaviour == "reset":
            self._drop()
        elif behaviour == "hang":
            board.closing.wait(board.hold)
            self._drop()
        elif behaviour == "late":
            board.closing.wait(board.hold)
            self._stream(OK, body, message)
        elif behaviour == "dribbled headers":
            for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
                self.connection.sendall(bytes([letter]))
                if board.closing.wait(0.05):
                    break
            self._drop()
        else:
            self._stream(behaviour, body, message)

    def _stream(self, behaviour: str, body: dict[str, Any], message: str) -> None:
        board = self.board
        prompt = tokens_of(body)
        with board.lock:
            cached = cached_by_rule(board.held, prompt, board.page)
            board.held.append(prompt)
            board.hits += cached
            board.queries += len(prompt)
        usage: Any = {"prompt_tokens": len(prompt), "completion_tokens": 2}
        if board.report and (cached or board.zeros):
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        if behaviour == "no usage":
            usage = None
        elif behaviour == "wrong usage":
            usage = {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 9999}}
        elif behaviour == "nonsense usage":
            usage = {"prompt_tokens": "many", "prompt_tokens_details": [1], "completion_tokens": -3}
        said = [{"delta": {"role": "assistant"}}, {"delta": {"content": "a"}}, {"delta": {"content": "b"}}]
        if behaviour == "plain":
            whole = {"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}], "usage": usage}
            self._json(200, whole)
        elif behaviour == "not json":
            self._send(200, b"<html>a proxy's page</html>", "text/html")
        else:
            self._events(behaviour, said, usage)
            if behaviour in ("slow body", "cut", "unfinished", "bad event", "error event"):
                return
        with board.lock:
            board.done[message] += 1

    def _events(self, behaviour: str, said: list[dict[str, Any]], usage: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, choice in enumerate(said):
            self._chunk(json.dumps({"choices": [choice]}))
            if behaviour == "slow body" and self.board.closing.wait(self.board.hold):
                return
            if behaviour == "cut" and number == 1:
                self._drop()
                return
        if behaviour == "bad event":
            self._chunk('{"choices": [')
        elif behaviour == "error event":
            self._chunk('{"error": {"message": "out of memory"}}')
        elif behaviour != "unfinished":
            self._chunk(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
            if usage is not None:
                self._chunk(json.dumps({"choices": [], "usage": usage}))
            self._chunk("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(self, status: int, page: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(page)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is no error here."""


@contextmanager
def serving(board: Board, handler: type[BaseHTTPRequestHandler] = Handler) -> Iterator[Board]:
    """The server at ``board.url`` for as long as the context lasts."""
    server = _Quiet(("127.0.0.1", 0), type("Bound", (handler,), {"board": board}))
    board.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield board
    finally:
        board.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def log_line(number: int, *, at: float | None = None, system: str = "You sort parcels. " * 20) -> str:
    """One request of a log, its last message ``q<number>``."""
    line: dict[str, Any] = {
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": f"q{number}"}],
        "max_tokens": 50,
        "user": "someone",
    }
    return json.dumps(line if at is None else {"timestamp": at, "request": line}) + "\n"


def waited(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether a condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()
