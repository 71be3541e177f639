"""What a tokenizer must offer, how a rendered prompt is cut at added tokens, and how engines are compared."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

__all__ = [
    "Encode",
    "Tokenizer",
    "added_pattern",
    "clean",
    "encode_prompt_text",
    "pack",
    "unpack",
    "verify",
]

Encode = Callable[[str], bytes]


class Tokenizer(Protocol):
    """A vocabulary with its pre-tokenizer.

    ``special`` maps each added-token string to its id and ``added`` finds them in a text (one capturing
    group), the longest first. ``whole_prompt`` is True where the encoding of a segment may depend on what
    stands before or after it; then a prompt must be encoded in one call. ``safe_split`` matches a newline
    behind which the pre-tokenizer always has a border, whatever surrounds it: the parts of a text cut at the
    ends of matches encode to the same tokens as the text.
    """

    @property
    def name(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def special(self) -> Mapping[str, int]: ...
    @property
    def added(self) -> re.Pattern[str] | None: ...
    @property
    def whole_prompt(self) -> bool: ...
    @property
    def safe_split(self) -> re.Pattern[str] | None: ...
    @property
    def vocab_hash(self) -> str:
        """The first 16 hex digits of a SHA-256 over the vocabulary."""

    def encode(self, text: str) -> bytes:
        """The tokens of ordinary text, packed as little-endian int32. No added token is recognised, except
        under ``whole_prompt``.
        """

    def decode(self, tokens: bytes) -> str:
        """The text of packed tokens, added tokens included; broken UTF-8 and unknown ids become U+FFFD."""

    def reference(self, texts: Sequence[str] | None = None) -> Encode | None:
        """An independent encoder of the same vocabulary to check this one against; None where this one is
        the reference. With ``texts`` it need encode no others, which may make it cheap.
        """


def pack(ids: Iterable[int]) -> bytes:
    return array("i", ids).tobytes()


def unpack(tokens: bytes) -> list[int]:
    ids = array("i")
    ids.frombytes(tokens)
    return ids.tolist()


def clean(text: str) -> str:
    """Text that UTF-8 can carry: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _common_beginning(first: str, last: str) -> str:
    """What the first and the last of a sorted list share, every one between them shares too."""
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _alternatives(strings: list[str]) -> str:
    """A pattern for any of the strings, the longest that fits, as a tree of their common beginnings: a plain
    list of a thousand alternatives would be tried one by one at every ``<``.
    """
    branches = []
    for _, same_start in groupby(sorted(strings), key=lambda string: string[0]):
        members = list(same_start)
        prefix = _common_beginning(members[0], members[-1])
        tails = [member[len(prefix) :] for member in members if member != prefix]
        optional = "?" if prefix in members else ""
        branches.append(re.escape(prefix) + (f"(?:{_alternatives(tails)}){optional}" if tails else ""))
    return "|".join(branches)


def added_pattern(strings: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern with one capturing group that finds added tokens, the longest first; None without any."""
    distinct = [string for string in set(strings) if string]
    return re.compile(f"({_alternatives(distinct)})") if distinct else None


def encode_prompt_text(tokenizer: Tokenizer, text: str) -> bytes:
    """The tokens of a rendered prompt (or of a group of it), packed as little-endian int32.

    Each maximal run of text between added tokens is encoded as one unit.
    """
    if tokenizer.whole_prompt or tokenizer.added is None:
        return tokenizer.encode(text)
    special = tokenizer.special
    parts = []
    for position, part in enumerate(tokenizer.added.split(text)):
        if position % 2:
            parts.append(pack((special[part],)))
        elif part:
            parts.append(tokenizer.encode(part))
    return b"".join(parts)


def verify(tokenizer: Tokenizer, samples: Sequence[str]) -> list[str]:
    """The samples that the tokenizer's engine and its reference encode differently."""
    reference = tokenizer.reference(samples)
    if reference is None:
        return []
    return [text for text in samples if tokenizer.encode(text) != reference(text)]
