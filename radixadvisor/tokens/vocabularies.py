r"""The vocabularies that come with the installed packages: nothing is downloaded.

Where a text may be cut: the patterns used here split a text from left to right, look at nothing behind the
current position, and give every character to exactly one piece. A cut after a newline and before a character
c is safe if no piece can hold both, and if the pieces before the cut come out the same when the text ends
there. A newline can be taken by three alternatives only:

* `` ?[^\s\p{L}\p{N}]+[\r\n]*`` ends in newlines, so c would have to be one; in o200k and Tekken the tail
  is ``[\r\n/]*``, so there c must not be ``/``;
* ``\s*[\r\n]+``, ``\s*[\r\n]`` and ``\s+$`` hold white space only, and where the run ends with the newline
  before c each of them takes all of it, whether the text goes on or not;
* ``\s+(?!\S)`` and ``\s+`` are tried after those, so never for a run that ends in a newline.

The optional first character of a word, ``[^\r\n\p{L}\p{N}]?``, is never a newline. DeepSeek splits three
times in a row (digits, CJK, the rest); the first two put borders beside digits and CJK runs, which only cut
more, and the third is as above. So c may be any character that is not white space. NFC (Qwen) must not join c
to what stands before it: no ASCII character and no unified ideograph composes backwards.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from radixadvisor.errors import UnknownName
from radixadvisor.tokens.base import Encode, added_pattern, clean, pack, unpack
from radixadvisor.tokens.specials import SPECIALS

__all__ = ["BuiltIn", "built_in", "vocabulary_names"]

_SAFE_NEXT = r"0-9A-Za-z一-龥!\"#$%&'()*+,\-.:;<=>?@\[\\\]^_`{|}~"
SAFE_SPLIT = re.compile(rf"\n(?=[{_SAFE_NEXT}/])")
SAFE_SPLIT_BUT_SLASH = re.compile(rf"\n(?=[{_SAFE_NEXT}])")

_MISSING = "The vocabulary {} lacks tokens of the template; they are numbered beyond it: {}."


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary inside splintr: its name there, the name of its pattern, and what it needs around it.

    ``base`` is the number of ordinary ids; ids from there on are added tokens.
    """

    engine: str
    base: int
    pattern: str | None
    split: re.Pattern[str]
    nfc: bool = False


_QWEN = Vocabulary("qwen2.5", 151643, "QWEN2_PATTERN", SAFE_SPLIT, nfc=True)
_DEEPSEEK = Vocabulary("deepseek_v3", 128000, None, SAFE_SPLIT)

VOCABULARIES: dict[str, Vocabulary] = {
    "cl100k": Vocabulary("cl100k_base", 100256, "CL100K_BASE_PATTERN", SAFE_SPLIT),
    "deepseek-r1": _DEEPSEEK,
    "deepseek-v3": _DEEPSEEK,
    "deepseek-v3.1": _DEEPSEEK,
    "glm4": Vocabulary("glm4", 151329, "LLAMA3_PATTERN", SAFE_SPLIT),
    "gpt-oss": Vocabulary("gpt-oss", 199998, "O200K_BASE_PATTERN", SAFE_SPLIT_BUT_SLASH),
    "llama3": Vocabulary("llama3", 128000, "LLAMA3_PATTERN", SAFE_SPLIT),
    "mistral-tekken": Vocabulary("mistral_v3", 131072, "MISTRAL_V3_PATTERN", SAFE_SPLIT_BUT_SLASH),
    "o200k": Vocabulary("o200k_base", 199998, "O200K_BASE_PATTERN", SAFE_SPLIT_BUT_SLASH),
    "qwen2.5": _QWEN,
    "qwen3": _QWEN,
}


def vocabulary_names() -> list[str]:
    return sorted(VOCABULARIES)


class BuiltIn:
    """A built-in vocabulary on splintr's engine.

    ``also`` names strings that a template needs as single tokens; those that the vocabulary lacks are
    numbered beyond it, and a note says so.

    Raises:
        UnknownName: no built-in vocabulary has this name (case is ignored).
    """

    whole_prompt = False

    def __init__(self, name: str, also: tuple[str, ...] = ()) -> None:
        import splintr

        if name.lower() not in VOCABULARIES:
            raise UnknownName("tokenizer", name, vocabulary_names())
        self.name = name.lower()
        self.vocabulary = VOCABULARIES[self.name]
        special = SPECIALS[self.name]()
        missing = [string for string in also if string not in special]
        beyond = max(self.vocabulary.base, *special.values()) + 1
        special.update({string: beyond + offset for offset, string in enumerate(missing)})
        self.special: Mapping[str, int] = special
        self.notes: tuple[str, ...] = (_MISSING.format(self.name, ", ".join(missing)),) if missing else ()
        self.added = added_pattern(self.special)
        self.safe_split: re.Pattern[str] | None = self.vocabulary.split
        self._engine: Any = splintr.Tokenizer.from_pretrained(self.vocabulary.engine)
        self._flat = self._engine.encode_flat
        self._ordinary = self._engine.encode_ordinary
        # encode_flat is the fastest call but reads the engine's own added tokens: used where none can be.
        own = self._engine.special_tokens()
        self._openings = sorted({string[:2] for string in own})
        self._own = added_pattern(own) or re.compile("(?!)")

    def encode(self, text: str) -> bytes:
        if self.vocabulary.nfc:
            text = unicodedata.normalize("NFC", text)
        try:
            if any(opening in text for opening in self._openings) and self._own.search(text):
                return pack(self._ordinary(text))
            flat: bytes = self._flat(text)
        except UnicodeEncodeError:
            return self.encode(clean(text))
        return flat

    @cached_property
    def _names(self) -> dict[int, str]:
        return {number: string for string, number in self.special.items()}

    def token_bytes(self, number: int) -> bytes:
        """The bytes of one token; an id that stands for nothing is U+FFFD."""
        if number in self._names:
            return self._names[number].encode()
        try:
            raw: bytes = self._engine.decode_token_bytes(number)
        except (ValueError, KeyError, OverflowError):
            return b"\xef\xbf\xbd"
        return raw

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Every ordinary token and its id, which is also its merge rank."""
        taken = set(self.special.values())
        raw = self._engine.decode_token_bytes
        return {raw(number): number for number in range(self.vocabulary.base) if number not in taken}

    def decode(self, tokens: bytes) -> str:
        return b"".join(map(self.token_bytes, unpack(tokens))).decode("utf-8", "replace")

    @cached_property
    def vocab_hash(self) -> str:
        digest = hashlib.sha256()
        for number in range(self.vocabulary.base):
            digest.update(self.token_bytes(number) + b"\n")
        for string, number in self.special.items():
            digest.update(f"{number} {string}\n".encode())
        return digest.hexdigest()[:16]

    def reference(self, texts: Sequence[str] | None = None) -> Encode | None:
        from radixadvisor.tokens.reference import independent_encoder

        return independent_encoder(self, texts)


@lru_cache(maxsize=32)
def _loaded(name: str, also: tuple[str, ...]) -> BuiltIn:
    return BuiltIn(name, also)


def built_in(name: str, also: tuple[str, ...] = ()) -> BuiltIn:
    """The vocabulary of that name, loaded once per process.

    Raises:
        UnknownName: there is none.
    """
    return _loaded(name.lower(), also)
