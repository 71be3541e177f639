"""JSON taken apart one level at a time, so that the text below stays as it was logged.

A record becomes a mapping from its keys to the raw JSON text of their values. Only what is looked at is
decoded, which keeps key order and number forms for those who need the text itself, and is fast.
"""

from __future__ import annotations

import math
import re
from typing import TypeVar

import msgspec
from msgspec import Raw

__all__ = [
    "Fields",
    "Raw",
    "Unusable",
    "array_of",
    "embedded",
    "first_byte",
    "integers",
    "is_empty",
    "is_null",
    "json_text",
    "label",
    "number",
    "object_of",
    "parse",
    "string",
]

Fields = dict[str, Raw]

_T = TypeVar("_T")
_ANY = msgspec.json.Decoder(Raw)
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_INTEGERS = msgspec.json.Decoder(list[int])
_FLOAT = msgspec.json.Decoder(float)
_STRING = msgspec.json.Decoder(str)
_LEADING = b"\xef\xbb\xbf\x1e \t\r\n"
_TOKENS = re.compile(rb'"(?:[^"\\]+|\\.)*+"|NaN|-?Infinity', re.DOTALL)
_PAIRS = re.compile(rb"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F]\w\w)|\\.", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")
_NULL = Raw(b"null")
_EMPTY = tuple(map(Raw, (b"null", b'""', b"{}", b"[]", b"false", b"")))


class Unusable(Exception):
    """A record that yields no request. ``reason`` is a stable category; ``detail`` holds no prompt text."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def _mended(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if not text.startswith(b'"'):
        return b"null"
    if b"\\u" not in text:
        return text
    return _PAIRS.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], text)


def _decode(decoder: msgspec.json.Decoder[_T], raw: bytes) -> _T:
    """Decode, and once more with what lenient writers emit made valid: NaN and Infinity become null, halves
    of surrogate pairs U+FFFD.
    """
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise Unusable("line too deeply nested") from None
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        text = _TOKENS.sub(_mended, bytes(raw).lstrip(_LEADING))
    try:
        return decoder.decode(text)
    except RecursionError:
        raise Unusable("line too deeply nested") from None
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            text.decode()
        except UnicodeDecodeError as fault:
            raise Unusable("not valid UTF-8", f"byte {fault.start + 1}") from None
        raise Unusable("not valid JSON", str(error).removeprefix("JSON is malformed: ")) from None


def parse(record: bytes) -> Fields:
    """The fields of one record; raises Unusable where it is no JSON object."""
    try:
        return _decode(_OBJECT, record)
    except msgspec.ValidationError:
        _decode(_ANY, record)
        raise Unusable("not an object") from None


def first_byte(raw: Raw) -> int:
    """The byte that tells the kind of a JSON value; 0 for a value that is not there."""
    view = memoryview(raw)
    return view[0] if view else 0


def is_null(raw: Raw | None) -> bool:
    """Whether a value is missing or null."""
    return raw is None or raw == _NULL


def is_empty(raw: Raw | None) -> bool:
    """Whether a value says nothing: missing, null, false, or an empty string, object or array."""
    return raw is None or raw in _EMPTY


def object_of(raw: Raw | None) -> Fields | None:
    """The fields of an object, also of one that was encoded into a string; None for anything else."""
    if raw is None:
        return None
    try:
        return _OBJECT.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        inner = embedded(raw)
    return _decode(_OBJECT, inner) if inner is not None and first_byte(inner) == 0x7B else None


def array_of(raw: Raw | None) -> list[Raw] | None:
    """The elements of an array, also of one that was encoded into a string; None for anything else."""
    if raw is None:
        return None
    try:
        return _ARRAY.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        inner = embedded(raw)
    return _decode(_ARRAY, inner) if inner is not None and first_byte(inner) == 0x5B else None


def integers(raw: Raw) -> list[int] | None:
    """An array of nothing but integers, else None."""
    try:
        return _decode(_INTEGERS, raw)
    except msgspec.ValidationError:
        return None


def embedded(raw: Raw | None) -> Raw | None:
    """The object or array that a value is, or that its string holds (logs encode bodies twice), else None."""
    first = 0 if raw is None else first_byte(raw)
    if raw is None or first in b"{[":
        return raw
    if first != 0x22:
        return None
    text = string(raw).strip()
    if not (text.startswith("{") and text.endswith("}")) and not (
        text.startswith("[") and text.endswith("]")
    ):
        return None
    inner = Raw(text.encode())
    try:
        if text[0] == "{":
            _decode(_OBJECT, inner)
        else:
            _decode(_ARRAY, inner)
    except Unusable as fault:
        if fault.reason == "line too deeply nested":
            raise
        return None
    return inner


def string(raw: Raw) -> str:
    """A JSON string decoded; the raw text of any other value."""
    return _decode(_STRING, raw) if first_byte(raw) == 0x22 else json_text(raw)


def json_text(raw: Raw) -> str:
    """The JSON text of a value exactly as logged."""
    try:
        return bytes(raw).decode()
    except UnicodeDecodeError as fault:
        raise Unusable("not valid UTF-8", f"byte {fault.start + 1} of a value") from None


def label(raw: Raw | None) -> str | None:
    """A name or an id: a non-empty string, or a number as written; None for anything else."""
    if raw is None:
        return None
    try:
        return _decode(_STRING, raw) or None
    except msgspec.ValidationError:
        return json_text(raw) if first_byte(raw) in b"-0123456789" else None


def number(raw: Raw | None) -> float | None:
    """A finite number, also one in a string; None for anything else."""
    if raw is None:
        return None
    try:
        return _FLOAT.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        text = (label(raw) or "").strip()
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
