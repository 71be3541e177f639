"""The run-time check of a fast engine: the reference takes over if samples of a log differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from radixadvisor.tokens.base import Encode, Tokenizer, verify

__all__ = ["SampledTokenizer", "by_reference", "checked"]

_SAMPLE_CHARS = 2000


@dataclass(frozen=True, slots=True)
class _ByReference:
    """A tokenizer whose reference encodes in its place; everything else is the tokenizer's own."""

    base: Tokenizer
    encoder: Encode
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def special(self) -> Mapping[str, int]:
        return self.base.special

    @property
    def added(self) -> re.Pattern[str] | None:
        return self.base.added

    @property
    def whole_prompt(self) -> bool:
        return self.base.whole_prompt

    @property
    def safe_split(self) -> re.Pattern[str] | None:
        return self.base.safe_split

    @property
    def vocab_hash(self) -> str:
        return self.base.vocab_hash

    def encode(self, text: str) -> bytes:
        return self.encoder(text)

    def decode(self, tokens: bytes) -> str:
        return self.base.decode(tokens)

    def reference(self, texts: Sequence[str] | None = None) -> Encode | None:
        return None


class SampledTokenizer:
    """A tokenizer that keeps some of the texts it encodes: the first, the second, the fourth, and so on."""

    def __init__(self, base: Tokenizer) -> None:
        self.base = base
        self.samples: list[str] = []
        self.name = base.name
        self.notes = base.notes
        self.special = base.special
        self.added = base.added
        self.whole_prompt = base.whole_prompt
        self.safe_split = base.safe_split
        self.decode = base.decode
        self.reference = base.reference
        self._encode = base.encode
        self._count = 0
        self._next = 1

    @property
    def vocab_hash(self) -> str:
        return self.base.vocab_hash

    def encode(self, text: str) -> bytes:
        self._count += 1
        if self._count == self._next:
            self._next *= 2
            self.samples.append(text[:_SAMPLE_CHARS])
        return self._encode(text)


def by_reference(tokenizer: Tokenizer) -> Tokenizer:
    """The same vocabulary on its reference engine; the tokenizer itself where it has none."""
    encoder = tokenizer.reference()
    return tokenizer if encoder is None else _ByReference(tokenizer, encoder, tokenizer.notes)


def checked(tokenizer: Tokenizer, samples: Sequence[str]) -> tuple[Tokenizer, int]:
    """The tokenizer to go on with and the number of samples that its fast engine encoded differently.

    With any difference it is the reference, which is slower, and a note says so; what was encoded before must
    be encoded again.
    """
    wrong = len(verify(tokenizer, samples))
    if not wrong:
        return tokenizer, 0
    slower = by_reference(tokenizer)
    assert isinstance(slower, _ByReference)
    note = f"The fast engine of {tokenizer.name} differed from its reference on {wrong} samples: replaced."
    return replace(slower, notes=(*slower.notes, note)), wrong
