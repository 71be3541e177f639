"""Request dumps that SGLang writes as Python pickles, read without running what they hold.

A pickle is a program. This reader lets it build plain values only: every class or function that it names is
replaced by an inert stand-in that keeps the arguments and the state given to it, and nothing is imported. A
first pass over the opcodes refuses pickles whose sizes or memo would not fit the file they stand in.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Iterator
from typing import Any

import msgspec

from radixadvisor.errors import UsageError

from .files import ByteStream
from .framing import Frame

__all__ = ["is_pickle", "pickle_frames"]

_LARGEST = 1 << 27  # bytes
_MOST = 2_000_000  # opcodes
_NODES = 400_000  # values in one request
_TEXT = 1 << 25  # characters in one request
_DEEPEST = 40
_SIZED = ("LONG1", "LONG4", "LONG", "INT")


def is_pickle(head: bytes) -> bool:
    """Whether a stream begins as a pickle of protocol 2 to 5 does."""
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5


class _Inert:
    """What stands where a pickle names a class or calls a function."""

    def __new__(cls, *arguments: Any, **named: Any) -> _Inert:
        made = object.__new__(cls)
        made.__dict__["held"] = {"arguments": list(arguments), **named} if arguments or named else {}
        return made

    def __init__(self, *arguments: Any, **named: Any) -> None: ...

    def __call__(self, *arguments: Any, **named: Any) -> _Inert:
        return _Inert(*arguments, **named)

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.__dict__["held"].update(part)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__["held"][key] = value

    def append(self, value: Any) -> None:
        self.__dict__["held"].setdefault("items", []).append(value)

    def extend(self, values: Any) -> None:
        for value in values:
            self.append(value)

    def add(self, value: Any) -> None:
        self.append(value)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _Inert

    def persistent_load(self, identity: Any) -> Any:
        return _Inert()


def _checked(data: bytes) -> None:
    """Raises ValueError for a pickle that asks for more than its own size."""
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if number > _MOST:
            raise ValueError("it has too many opcodes")
        size = argument if isinstance(argument, int) else 0
        if opcode.name in ("LONG_BINPUT", "PUT", "BINPUT") and size > number:
            raise ValueError("its memo does not fit its size")
        if opcode.name in _SIZED and size.bit_length() > 4096:
            raise ValueError("it holds a number of absurd size")
        if opcode.name == "DUP":
            raise ValueError("it repeats values")


class _Plain:
    """Turns what was unpickled into values that JSON can hold, up to a size."""

    def __init__(self) -> None:
        self.nodes, self.text = _NODES, _TEXT

    def of(self, value: Any, depth: int = 0) -> Any:
        self.nodes -= 1
        if isinstance(value, str | bytes):
            self.text -= len(value)
        if self.nodes < 0 or self.text < 0 or depth > _DEEPEST:
            raise ValueError("a request in it is too large")
        if value is None or isinstance(value, bool | float | str):
            return value
        if isinstance(value, int):
            return value if abs(value) < 2**63 else str(value)
        if isinstance(value, bytes | bytearray):
            return value.decode(errors="replace")
        if isinstance(value, _Inert):
            return self.of(value.__dict__["held"], depth)
        if isinstance(value, dict):
            return {str(key)[:200]: self.of(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.of(inner, depth + 1) for inner in value]
        return None


def _loaded(stream: ByteStream) -> Any:
    data = bytearray()
    for chunk in stream:
        data += chunk
        if len(data) > _LARGEST:
            raise ValueError("it is larger than 128 MiB")
    _checked(bytes(data))
    return _Unpickler(io.BytesIO(data)).load()


def pickle_frames(name: str, stream: ByteStream) -> Iterator[Frame]:
    """The requests of a dump as records ``{"obj", "out", "created_time", "finish_time"}``.

    Raises:
        UsageError: the file is no dump of requests, or none that is safe to read.
    """
    try:
        loaded = _loaded(stream)
    except Exception as fault:  # a pickle can fail in any way
        raise UsageError(f"{name} is a Python pickle that cannot be read: {str(fault)[:100]}.") from None
    requests = loaded.get("requests") if isinstance(loaded, dict) else loaded
    if not isinstance(requests, list | tuple):
        raise UsageError(f"{name} is a Python pickle, but no request dump of SGLang.")
    for number, request in enumerate(requests, 1):
        if not isinstance(request, list | tuple) or not request:
            yield Frame(b"", number, "not a dumped request")
            continue
        names = ("obj", "out", "created_time", "finish_time")
        try:
            plain = _Plain().of(dict(zip(names, request, strict=False)))
            yield Frame(msgspec.json.encode({"sglang_dump": True, **plain}), number)
        except (ValueError, TypeError, RecursionError, UnicodeError) as fault:
            yield Frame(str(fault)[:100].encode(), number, "not a dumped request")
