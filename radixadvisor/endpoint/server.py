"""A server that speaks OpenAI's protocol: its pages, and one streamed attempt at a time within its time."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Any

import msgspec

from radixadvisor.endpoint.answers import NO_COUNTS, Answer, Counts
from radixadvisor.endpoint.events import EventStream
from radixadvisor.endpoint.patience import RETRIED, Patience, retry_after
from radixadvisor.endpoint.wire import exchange, opened, parse_address
from radixadvisor.errors import Unreachable, UsageError

__all__ = ["CUT", "NO_CONNECTION", "TIMEOUT", "Attempt", "Server"]

CUT, NO_CONNECTION, TIMEOUT = "cut stream", "no connection", "timeout"

_LONGEST_PAGE = 1 << 26
_LONGEST_LOOK = 10.0
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a request.

    ``failure`` names what went wrong (``429``, ``timeout``, ``cut stream`` ...), None if nothing did;
    ``again`` tells whether another attempt may do better, ``after`` the seconds that the server asks to wait.
    Times are seconds since the request was sent; ``ttft`` is None where the answer did not come as a stream.
    """

    failure: str | None
    again: bool = False
    after: float | None = None
    ttft: float | None = None
    seconds: float = 0.0
    counts: Counts = NO_COUNTS


class Server:
    """A server at ``url`` (with or without ``/v1``).

    Args:
        url: http or https; a key does not belong into it.
        key: sent as a bearer token and shown nowhere.
        patience: time limits.

    Raises:
        UsageError: an address or a key that cannot work.
    """

    def __init__(self, url: str, key: str | None, patience: Patience) -> None:
        self._address = parse_address(url)
        if key is not None and not (key.isascii() and key.isprintable()):
            raise UsageError("The key in the environment has characters that no header can hold.")
        self.url = str(self._address)
        self._patience = patience
        self._headers = {"Content-Type": "application/json", "User-Agent": "radixadvisor"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def get(self, path: str) -> bytes | None:
        """A page, None where the server has none or does not answer."""
        try:
            status, page = self._page("GET", path, None)
        except (OSError, HTTPException):
            return None
        return page if status == 200 else None

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a JSON body, None where the server has none."""
        try:
            status, page = self._page("POST", path, msgspec.json.encode(body))
            return msgspec.json.decode(page) if status == 200 else None
        except (OSError, HTTPException, msgspec.DecodeError):
            return None

    def models(self) -> tuple[str, ...]:
        """The names of the models that it serves; empty where it does not list them.

        Raises:
            Unreachable: nothing answers at the address.
        """
        try:
            status, page = self._page("GET", "/v1/models", None)
        except TimeoutError:
            raise Unreachable(
                f"Nothing answers at {self.url} within {self._look:g} s. Is the server up, and the address "
                "right?"
            ) from None
        except (OSError, HTTPException) as error:
            raise Unreachable(f"No server can be reached at {self.url}: {_why(error)}.") from None
        if status != 200:
            return ()
        try:
            return tuple(str(entry["id"]) for entry in msgspec.json.decode(page)["data"])
        except (msgspec.DecodeError, KeyError, TypeError):
            return ()

    def ask(self, path: str, body: bytes) -> Attempt:
        """Send a request whose answer is streamed, and read the answer to its end."""
        patience = self._patience
        began = monotonic()
        failure = NO_CONNECTION
        try:
            with opened(self._address, patience.connect, patience.timeout) as connection:
                began = monotonic()
                response = exchange(connection, "POST", self._address.path + path, self._headers, body)
                if response.status != 200:
                    after = retry_after(response.headers.get("Retry-After"))
                    again = response.status in RETRIED
                    return Attempt(str(response.status), again, after, seconds=monotonic() - began)
                failure = CUT
                return _read(response, began)
        except TimeoutError:
            failure = TIMEOUT
        except (OSError, HTTPException):
            pass
        return Attempt(failure, again=True, seconds=monotonic() - began)

    @property
    def _look(self) -> float:
        return min(self._patience.timeout, _LONGEST_LOOK)

    def _page(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """A page that is there at once: what takes long is not waited for."""
        with opened(self._address, self._patience.connect, self._look) as connection:
            response = exchange(connection, method, self._address.path + path, self._headers, body)
            return response.status, response.read(_LONGEST_PAGE)


def _read(response: HTTPResponse, began: float) -> Attempt:
    """Read the events of an answer as they come."""
    answer, stream = Answer(), EventStream()
    streamed = "event-stream" in response.headers.get("Content-Type", "")
    ttft: float | None = None
    body = bytearray()
    while piece := response.read1(_PIECE):
        if not streamed:
            body += piece
            continue
        for event in stream.feed(piece):
            answer.take(event)
        if answer.begun and ttft is None:
            ttft = monotonic() - began
    if streamed:
        for event in stream.close():
            answer.take(event)
    else:
        # A server that does not stream tells all at once: no time to the first token.
        answer.take(bytes(body))
    seconds = monotonic() - began
    if answer.failed is not None:
        return Attempt(answer.failed, again=True, seconds=seconds)
    if not answer.finished:
        return Attempt(CUT, again=True, seconds=seconds)
    return Attempt(None, ttft=ttft, seconds=seconds, counts=answer.counts)


def _why(error: Exception) -> str:
    """The system's reason, in few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS; write http:// for a server without"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return "what answers there is no HTTP server"
