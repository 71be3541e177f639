"""Python values that servers print with ``%r``: read as literals, never evaluated, within limits."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["literal_at", "value_after"]

_STRING = re.compile(r"""b?'(?:[^'\\]|\\.)*+'|b?"(?:[^"\\]|\\.)*+\"""", re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|None|True|False|nan|-?inf")
_IDS = re.compile(r"\[[\d,\s]*\]")
_LONGEST = 1 << 26  # characters of one value
_LONGEST_NESTED = 1 << 23  # its syntax tree takes many times as much
_DEEPEST = 60


def literal_at(text: str, start: int) -> tuple[Any, int] | None:
    """The literal that begins at a position, and where it ends; None where there is none.

    Strings, numbers, None, True, False, and lists, tuples and dicts of them.
    """
    if len(text) - start > _LONGEST:
        return None
    found = _STRING.match(text, start) or _NUMBER.match(text, start) or _IDS.match(text, start)
    if found is None:
        end = _bracket_end(text, start)
        if end is None or end - start > _LONGEST_NESTED:
            return None
        return _read(text[start:end], end)
    if found[0] in ("nan", "inf", "-inf"):
        return None, found.end()
    if found.re is _IDS:
        return [int(each) for each in re.findall(r"\d{1,18}", found[0])], found.end()
    return _read(found[0], found.end())


def _read(source: str, end: int) -> tuple[Any, int] | None:
    try:
        return ast.literal_eval(source), end
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, OverflowError):
        return None


def _bracket_end(text: str, start: int) -> int | None:
    """Where the bracket at a position closes, quotes skipped."""
    if text[start : start + 1] not in ("{", "[", "("):
        return None
    depth, position = 0, start
    while position < len(text):
        char = text[position]
        if char in "'\"":
            quoted = _STRING.match(text, position)
            if quoted is None:
                return None
            position = quoted.end()
            continue
        depth += (char in "{[(") - (char in "}])")
        position += 1
        if depth == 0:
            return position
        if depth > _DEEPEST:
            return None
    return None


def value_after(text: str, key: str, start: int = 0) -> tuple[Any, int] | None:
    """The literal after a key such as ``prompt: `` or ``text=``, outside of quotes."""
    sought = re.compile(rf"['\"]|(?<![A-Za-z0-9_]){re.escape(key)}")
    position = start
    while (found := sought.search(text, position)) is not None:
        if found[0] == key:
            return literal_at(text, found.end())
        quoted = _STRING.match(text, found.start())
        position = found.end() if quoted is None else quoted.end()
    return None
