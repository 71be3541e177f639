"""One HTTP request on a connection of its own, over by a fixed time.

Every request opens a connection and closes it: a kept one may have been closed by the server a moment ago,
which looks like a server that cannot be reached. It is opened before times are taken, so that a handshake is
no part of a time to first token.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from socket import socket
from time import monotonic
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from radixadvisor.errors import UsageError

__all__ = ["Address", "exchange", "opened", "parse_address"]

_SHORTEST = 1e-3


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens: ``path`` stands before the paths of the protocol, without ``/v1``."""

    secure: bool
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.secure else 'http'}://{host}{port}{self.path}"


def parse_address(url: str) -> Address:
    """An address, with or without ``http://`` and ``/v1``.

    Raises:
        UsageError: one that cannot work. It is not repeated where it may hold a password.
    """
    given = url.strip()
    if "@" in given or "?" in given or "#" in given:
        raise UsageError(
            "A server's address holds no user, key or query: keys come from the environment (--api-key-env)."
        )
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    plain = url.isascii() and url.isprintable() and " " not in given
    if not host or not plain or parts.scheme not in ("http", "https"):
        raise UsageError(f"No server's address: {url!r}. Write http://HOST:PORT or http://HOST:PORT/v1.")
    return Address(
        parts.scheme == "https", host, port, parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    )


@contextmanager
def opened(address: Address, connect: float, timeout: float) -> Iterator[HTTPConnection]:
    """A connection of which every read and write is over ``timeout`` seconds from now; ``connect`` of them
    may pass until it stands.

    Raises:
        OSError: it cannot be opened; TimeoutError if not in time.
    """
    deadline = monotonic() + timeout
    limit = min(connect, timeout)
    connection: HTTPConnection
    if address.secure:
        from http.client import HTTPSConnection

        connection = HTTPSConnection(address.host, address.port, timeout=limit)
    else:
        connection = HTTPConnection(address.host, address.port, timeout=limit)
    try:
        connection.connect()
        # http.client asks its socket for nothing beyond what _Timed has.
        connection.sock = cast("socket", _Timed(connection.sock, deadline))
        yield connection
    finally:
        connection.close()


def exchange(
    connection: HTTPConnection, method: str, path: str, headers: Mapping[str, str], body: bytes | None
) -> HTTPResponse:
    """Send a request; its response, of which the body is still to be read."""
    connection.request(method, path, body=body, headers={**headers, "Connection": "close"})
    return connection.getresponse()


class _Timed:
    """A socket whose every call ends by a deadline.

    A socket's own timeout begins anew with each byte that arrives: a server that sends one byte every now
    and then would hold it for ever.
    """

    def __init__(self, held: socket, deadline: float) -> None:
        self._held = held
        self._deadline = deadline

    def sendall(self, data: Any) -> None:
        _limit(self._held, self._deadline)
        self._held.sendall(data)

    def makefile(self, mode: Literal["rb"]) -> io.BufferedReader:
        # The file keeps the socket open where http.client closes it before the body is read.
        return io.BufferedReader(_Reader(self._held, self._deadline))

    def close(self) -> None:
        self._held.close()


class _Reader(io.RawIOBase):
    def __init__(self, held: socket, deadline: float) -> None:
        self._held = held
        self._deadline = deadline
        self._file = held.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        _limit(self._held, self._deadline)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _limit(held: socket, deadline: float) -> None:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("out of time")
    held.settimeout(max(left, _SHORTEST))
