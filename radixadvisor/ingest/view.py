"""Looking into records whose keys come in many spellings: nested or flattened, camel case or snake case."""

from __future__ import annotations

from typing import Any

import msgspec

from .names import plain
from .raw import Fields, Raw, Unusable, array_of, embedded, is_empty, is_null, label, number, object_of

__all__ = ["View", "counts", "encode", "is_true", "joined"]


def encode(value: Any) -> Raw:
    """A value, which may hold Raw ones, as JSON."""
    return Raw(msgspec.json.encode(value))


def is_true(raw: Raw | None) -> bool:
    """Whether a value is JSON's true."""
    return raw is not None and bytes(raw) == b"true"


class View:
    """An object whose values are found by path, without regard to case, ``_``, ``-`` and ``.`` in its keys.

    A path is found whether the object nests it, joins it into one key, or keeps a part of it as a string of
    JSON. What is null counts as missing.
    """

    __slots__ = ("_below", "_keys", "fields")

    def __init__(self, fields: Fields | None) -> None:
        self.fields: Fields = fields or {}
        self._keys = {plain(key): raw for key, raw in reversed(self.fields.items())}
        self._below: dict[str, View | None] = {}

    def __bool__(self) -> bool:
        return bool(self.fields)

    def get(self, *path: str) -> Raw | None:
        """The value at a path, each step of which may be alternatives: ``"a|b"``."""
        for end in range(len(path), 0, -1):
            for key in _keys(path[:end]):
                raw = self._keys.get(key)
                if raw is None or is_null(raw):
                    continue
                if end == len(path):
                    return raw
                below = self._inner(key, raw)
                if below is not None and (found := below.get(*path[end:])) is not None:
                    return found
        return None

    def _inner(self, key: str, raw: Raw) -> View | None:
        if key not in self._below:
            try:
                fields = object_of(raw)
            except Unusable:
                fields = None
            self._below[key] = View(fields) if fields is not None else None
        return self._below[key]

    def has(self, *path: str) -> bool:
        return self.get(*path) is not None

    def view(self, *path: str) -> View:
        """The object at a path, empty where there is none; flattened keys below the path count as its own."""
        raw = self.get(*path)
        fields = dict(object_of(raw) or {}) if raw is not None else {}
        for prefix in _keys(path):
            for key, value in self.fields.items():
                name = plain(key)
                if name.startswith(prefix) and name != prefix and "." in key:
                    steps = key.split(".")
                    if len(steps) > len(path) and plain(".".join(steps[: len(path)])) == prefix:
                        fields.setdefault(".".join(steps[len(path) :]), value)
        return View(fields)

    def text(self, *path: str) -> str | None:
        """A non-empty string, or a number as written."""
        return label(self.get(*path))

    def number(self, *path: str) -> float | None:
        return number(self.get(*path))

    def count(self, *path: str) -> int | None:
        """A number of tokens."""
        value = number(self.get(*path))
        return int(value) if value is not None and 0 <= value < 2**53 else None

    def items(self, *path: str) -> list[Raw]:
        """The elements of an array, also of one that was encoded into a string."""
        return array_of(self.get(*path)) or []


def _keys(path: tuple[str, ...]) -> list[str]:
    keys = [""]
    for step in path:
        keys = [head + plain(name) for head in keys for name in step.split("|")]
    return keys


def joined(*sources: tuple[str, Raw | str | float | None]) -> Fields:
    """Facts under the usual names, those without a value left out."""
    found: Fields = {}
    for name, value in sources:
        raw = encode(value) if isinstance(value, str | int | float) else value
        if raw is not None and not is_empty(raw):
            found[name] = embedded(raw) or raw
    return found


def counts(
    prompt: int | None,
    completion: int | None,
    cached: int | None = None,
    written: int | None = None,
    *,
    beside: bool = False,
) -> Raw | None:
    """Token counts in OpenAI's form, whose prompt includes what was cached.

    Args:
        prompt, completion, cached, written: what the server counted.
        beside: whether ``prompt`` leaves out what was read from the cache or written to it.
    """
    if prompt is None and completion is None and cached is None:
        return None
    if beside and prompt is not None:
        prompt += (cached or 0) + (written or 0)
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    kept = {name: value for name, value in details.items() if value is not None}
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    if kept:
        usage["prompt_tokens_details"] = kept
    return encode({name: value for name, value in usage.items() if value is not None})
