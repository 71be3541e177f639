"""The tokenizer of a model directory, run by the library that its file belongs to."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radixadvisor.errors import UsageError
from radixadvisor.tokens.base import Encode, added_pattern, clean, pack, unpack
from radixadvisor.tokens.reference import DEEPSEEK_STEPS
from radixadvisor.tokens.vocabularies import SAFE_SPLIT, SAFE_SPLIT_BUT_SLASH

__all__ = ["DirectoryTokenizer", "holds_tokenizer"]

_FILE, _ZIPPED = "tokenizer.json", "tokenizer.json.zip"

# The steps of pre-tokenizers for which the module of the built-in vocabularies argues that lines may be cut.
_TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORDS = r"|[^\r\n\p{L}\p{N}]?\p{L}+"
_DIGITS = (r"|\p{N}", r"|\p{N}{1,3}")
_SAFE_STEPS = {
    *((_CONTRACTIONS + _WORDS + n + r"| ?[^\s\p{L}\p{N}]+[\r\n]*" + _TAIL,) for n in _DIGITS),
    (_CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _TAIL,),
    DEEPSEEK_STEPS,
}
_SAFE_STEPS_BUT_SLASH = {
    (
        f"{_UPPER}*{_LOWER}+{ending}|{_UPPER}+{_LOWER}*{ending}{n}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _TAIL,
    )
    for ending in (_CONTRACTIONS + "?", "")
    for n in _DIGITS
}


def holds_tokenizer(directory: Path) -> bool:
    return directory.is_dir() and any((directory / name).is_file() for name in (_FILE, _ZIPPED))


def _read(directory: Path) -> bytes:
    if (directory / _FILE).is_file():
        return (directory / _FILE).read_bytes()
    with zipfile.ZipFile(directory / _ZIPPED) as archive:
        return archive.read(_FILE)


def _stages(pre_tokenizer: Any) -> list[dict[str, Any]]:
    """A pre-tokenizer's steps, a sequence of them flattened."""
    if not isinstance(pre_tokenizer, dict):
        return []
    if pre_tokenizer.get("type") != "Sequence":
        return [pre_tokenizer]
    return [stage for inner in pre_tokenizer.get("pretokenizers", []) for stage in _stages(inner)]


def _normalizes(normalizer: Any) -> bool:
    """Whether a normalizer does anything at all."""
    if not isinstance(normalizer, dict) or not normalizer:
        return False
    return normalizer.get("type") != "Sequence" or any(map(_normalizes, normalizer.get("normalizers", [])))


def _needs_whole_prompt(spec: dict[str, Any]) -> bool:
    """Whether a segment between added tokens may encode differently in its prompt than alone: where added
    tokens take in white space or are sought in normalized text, or a marker stands before a first word only.
    """
    normalizes = _normalizes(spec.get("normalizer"))
    for token in spec.get("added_tokens", []):
        if token.get("lstrip") or token.get("rstrip") or token.get("single_word"):
            return True
        if token.get("normalized") and normalizes:
            return True
    stages = _stages(spec.get("pre_tokenizer"))
    return any(s.get("type") == "Metaspace" and s.get("prepend_scheme") == "first" for s in stages)


def _safe_split(spec: dict[str, Any]) -> re.Pattern[str] | None:
    normalizer = spec.get("normalizer") or {}
    if _normalizes(normalizer) and normalizer.get("type") != "NFC":
        return None
    *splits, last = _stages(spec.get("pre_tokenizer")) or [{}]
    if last.get("type") != "ByteLevel" or last.get("use_regex") or last.get("add_prefix_space"):
        return None
    if any(stage.get("type") != "Split" or stage.get("behavior") != "Isolated" for stage in splits):
        return None
    patterns = [str(stage.get("pattern", {}).get("Regex")) for stage in splits]
    steps = tuple(text.replace("\r", r"\r").replace("\n", r"\n") for text in patterns)
    if steps in _SAFE_STEPS:
        return SAFE_SPLIT
    return SAFE_SPLIT_BUT_SLASH if steps in _SAFE_STEPS_BUT_SLASH else None


class DirectoryTokenizer:
    """A tokenizer.json (also zipped) on Hugging Face's ``tokenizers``.

    ``also`` names strings that the template needs as single tokens; those that the tokenizer lacks are added
    behind its vocabulary, and a note says so.

    Raises:
        UsageError: the directory has no tokenizer.json, or it cannot be read.
    """

    def __init__(self, directory: Path, also: tuple[str, ...] = ()) -> None:
        import tokenizers

        self.name = directory.resolve().name
        if not holds_tokenizer(directory):
            raise UsageError(f"The directory {self.name} has no {_FILE}.")
        try:
            raw = _read(directory)
            spec = json.loads(raw)
            self._engine: Any = tokenizers.Tokenizer.from_str(raw.decode())
        except Exception as error:  # the library raises bare Exceptions
            raise UsageError(f"The {_FILE} of {self.name} cannot be read: {error}") from error
        self._engine.no_truncation()
        self._engine.no_padding()
        missing = [string for string in also if self._engine.token_to_id(string) is None]
        self._engine.add_special_tokens(missing)
        self.notes: tuple[str, ...] = (
            (f"The tokenizer of {self.name} lacks tokens of the template: {', '.join(missing)}.",)
            if missing
            else ()
        )
        added = self._engine.get_added_tokens_decoder().items()
        self.special = {token.content: number for number, token in added}
        self.added = added_pattern(self.special)
        self.whole_prompt = _needs_whole_prompt(spec)
        self.safe_split = _safe_split(spec)
        self.vocab_hash = hashlib.sha256(raw).hexdigest()[:16]

    def encode(self, text: str) -> bytes:
        try:
            return pack(self._engine.encode(text, add_special_tokens=False).ids)
        except (UnicodeEncodeError, TypeError):
            return pack(self._engine.encode(clean(text), add_special_tokens=False).ids)

    def decode(self, tokens: bytes) -> str:
        text: str = self._engine.decode(unpack(tokens), skip_special_tokens=False)
        return text

    def reference(self, texts: Sequence[str] | None = None) -> Encode | None:
        return None
