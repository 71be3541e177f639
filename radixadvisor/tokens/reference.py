"""A second, independent encoder for the built-in vocabularies: tiktoken over the same ranks.

``tiktoken.get_encoding`` is never called: it downloads. The ranks are read back from splintr token by token;
what is independent is the pre-tokenizer's regular-expression engine and the merging.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from radixadvisor.tokens.base import Encode, clean, pack

if TYPE_CHECKING:
    from radixadvisor.tokens.vocabularies import BuiltIn

__all__ = ["DEEPSEEK_STEPS", "independent_encoder"]

# DeepSeek's pre-tokenizer: each pattern splits what the one before it left.
DEEPSEEK_STEPS = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def _split(patterns: tuple[Any, ...], text: str) -> list[str]:
    """The pieces of a text: matches and what lies between them, split again by the next pattern."""
    pieces = [text]
    for pattern in patterns:
        finer = []
        for piece in pieces:
            end = 0
            for match in pattern.finditer(piece):
                finer += [piece[end : match.start()], match.group()]
                end = match.end()
            finer.append(piece[end:])
        pieces = [piece for piece in finer if piece]
    return pieces


def independent_encoder(tokenizer: BuiltIn) -> Encode:
    """An encoder over the vocabulary's ordinary tokens that shares no code with splintr's."""
    import regex  # type: ignore[import-untyped]
    import splintr
    import tiktoken

    vocabulary = tokenizer.vocabulary
    added = set(tokenizer.special.values())
    numbers = (number for number in range(vocabulary.base) if number not in added)
    ranks = {tokenizer.token_bytes(number): number for number in numbers}
    # Without a pattern of its own the text is one piece: it has been split before.
    pattern = getattr(splintr, vocabulary.pattern) if vocabulary.pattern else r"[\s\S]+"
    encoding = tiktoken.Encoding(tokenizer.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    stages = () if vocabulary.pattern else tuple(regex.compile(text) for text in DEEPSEEK_STEPS)

    def encode(text: str) -> bytes:
        text = clean(text)
        if vocabulary.nfc:
            text = unicodedata.normalize("NFC", text)
        if not stages:
            return pack(encoding.encode_ordinary(text))
        return b"".join(pack(encoding.encode_ordinary(piece)) for piece in _split(stages, text))

    return encode
