"""The connection to a server: one streamed attempt at a time, each within its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import msgspec

from radixadvisor.endpoint.answers import NO_COUNTS, Answer, Counts
from radixadvisor.endpoint.events import EventStream
from radixadvisor.endpoint.patience import Patience, retry_after
from radixadvisor.errors import UsageError

__all__ = ["Attempt", "Server"]

_LONGEST_PAGE = 1 << 26
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a request.

    ``failure`` names what went wrong (``429``, ``timeout``, ``cut stream`` ...), None if nothing did;
    ``again`` tells whether another attempt may do better, ``after`` the seconds that the server asks to wait.
    Times are seconds since the attempt began.
    """

    failure: str | None
    again: bool = False
    after: float | None = None
    ttft: float | None = None
    seconds: float = 0.0
    counts: Counts = NO_COUNTS


class Server:
    """A server that speaks OpenAI's protocol, at ``url`` (with or without ``/v1``).

    Args:
        url: http or https; a key does not belong into it.
        key: sent as a bearer token and shown nowhere.
        patience: time limits.
        connections: how many may be open at once.

    Raises:
        UsageError: a URL that cannot work.
    """

    def __init__(self, url: str, key: str | None, patience: Patience, connections: int = 1) -> None:
        import urllib3

        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"No server's address: {url!r}. Write http://HOST:PORT or http://HOST:PORT/v1.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                "A server's address holds no user, key or query: keys come from the environment."
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            raise UsageError("The key in the environment has characters that no header can hold.")
        path = parts.path.rstrip("/").removesuffix("/v1")
        self.url = f"{parts.scheme}://{parts.netloc}{path}"
        self._patience = patience
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._pool = urllib3.PoolManager(maxsize=connections, block=False, retries=False)

    def get(self, path: str) -> bytes | None:
        """A page, None where the server has none or does not answer."""
        return self._page("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a JSON body, None where the server has none."""
        page = self._page("POST", path, msgspec.json.encode(body))
        if page is None:
            return None
        try:
            return msgspec.json.decode(page)
        except msgspec.DecodeError:
            return None

    def models(self) -> tuple[str, ...]:
        """The names of the models that it serves.

        Raises:
            UsageError: it cannot be reached, or does not list them.
        """
        page = self.get("/v1/models")
        try:
            listed = msgspec.json.decode(page or b"")
            return tuple(str(entry["id"]) for entry in listed["data"])
        except (msgspec.DecodeError, KeyError, TypeError):
            raise UsageError(
                f"No server that speaks OpenAI's protocol answers at {self.url}: {self.url}/v1/models lists "
                "no models."
            ) from None

    def ask(self, path: str, body: bytes) -> Attempt:
        """Send a request whose answer is streamed, and read the answer to its end."""
        import urllib3
        from urllib3.exceptions import HTTPError, TimeoutError

        began = monotonic()
        deadline = began + self._patience.timeout
        limit = urllib3.Timeout(connect=self._patience.connect, read=self._patience.timeout)
        try:
            response = self._pool.request(
                *("POST", self.url + path),
                body=body,
                headers=self._headers,
                timeout=limit,
                preload_content=False,
                redirect=False,
            )
        except TimeoutError:
            return Attempt("timeout", again=True, seconds=monotonic() - began)
        except HTTPError:
            return Attempt("no connection", again=True, seconds=monotonic() - began)
        try:
            if response.status != 200:
                return _refused(response.status, response.headers.get("Retry-After"), monotonic() - began)
            return _read(response, began, deadline)
        except TimeoutError:
            return Attempt("timeout", again=True, seconds=monotonic() - began)
        except (HTTPError, OSError):
            return Attempt("cut stream", again=True, seconds=monotonic() - began)
        finally:
            # A connection whose answer was not read to the end cannot be used again.
            response.close()
            response.release_conn()

    def _page(self, method: str, path: str, body: bytes | None) -> bytes | None:
        import urllib3
        from urllib3.exceptions import HTTPError

        limit = urllib3.Timeout(connect=self._patience.connect, total=self._patience.timeout)
        try:
            response = self._pool.request(
                *(method, self.url + path),
                body=body,
                headers=self._headers,
                timeout=limit,
                redirect=False,
                preload_content=False,
            )
            with response:
                page: bytes = response.read(_LONGEST_PAGE)
        except HTTPError:
            return None
        return page if response.status == 200 else None


def _refused(status: int, after: str | None, seconds: float) -> Attempt:
    from radixadvisor.endpoint.patience import RETRIED

    return Attempt(str(status), status in RETRIED, retry_after(after), seconds=seconds)


def _read(response: Any, began: float, deadline: float) -> Attempt:
    """Read the events of an answer as they come."""
    answer, stream = Answer(), EventStream()
    plain = "event-stream" not in response.headers.get("Content-Type", "")
    ttft: float | None = None
    body = b""
    while piece := response.read1(_PIECE):
        now = monotonic()
        if plain:
            body += piece
        for event in () if plain else stream.feed(piece):
            answer.take(event)
            if answer.begun and ttft is None:
                ttft = now - began
        if now > deadline:
            return Attempt("timeout", again=True, seconds=now - began)
    if plain:
        # A server that does not stream tells all at once: no time to the first token.
        answer.take(body)
    else:
        for event in stream.close():
            answer.take(event)
    seconds = monotonic() - began
    if answer.failed is not None:
        return Attempt(answer.failed, again=True, seconds=seconds)
    if not answer.finished:
        return Attempt("cut stream", again=True, seconds=seconds)
    return Attempt(None, ttft=ttft, seconds=seconds, counts=answer.counts)
