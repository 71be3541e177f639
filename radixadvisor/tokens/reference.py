"""A second, independent encoder for the built-in vocabularies: tiktoken over the same ranks.

``tiktoken.get_encoding`` is never called: it downloads. The ranks are read back from splintr token by token;
what is independent is the pre-tokenizer's regular-expression engine and the merging.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from radixadvisor.tokens.base import Encode, clean, pack

if TYPE_CHECKING:
    from radixadvisor.tokens.vocabularies import BuiltIn

__all__ = ["DEEPSEEK_STEPS", "independent_encoder"]

_SHORT = 12

# DeepSeek's pre-tokenizer: each pattern splits what the one before it left.
DEEPSEEK_STEPS = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def _normal(nfc: bool) -> Callable[[str], str]:
    return (lambda text: unicodedata.normalize("NFC", clean(text))) if nfc else clean


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


def _occurring(ranks: dict[bytes, int], text: bytes) -> dict[bytes, int]:
    """The tokens that can occur in a text; every single byte can."""
    size = len(text)
    short = {text[at : at + span] for span in range(2, _SHORT + 1) for at in range(size - span + 1)}
    return {
        token: number
        for token, number in ranks.items()
        if token in short or len(token) == 1 or (len(token) > _SHORT and token in text)
    }


def independent_encoder(tokenizer: BuiltIn, texts: Sequence[str] | None = None) -> Encode:
    """An encoder over the vocabulary's ordinary tokens that shares no code with splintr's.

    With ``texts`` it knows only the tokens that can occur in them: enough to encode them, and quick to build.
    """
    import regex  # type: ignore[import-untyped]
    import splintr
    import tiktoken

    vocabulary = tokenizer.vocabulary
    ranks = tokenizer.ranks
    if texts is not None:
        # A border between two texts makes a token of neither.
        joined = "\0".join(map(_normal(vocabulary.nfc), texts)).encode()
        ranks = _occurring(ranks, joined)
    # Without a pattern of its own the text is one piece: it has been split before.
    pattern = getattr(splintr, vocabulary.pattern) if vocabulary.pattern else r"[\s\S]+"
    encoding = tiktoken.Encoding(tokenizer.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    stages = () if vocabulary.pattern else tuple(regex.compile(text) for text in DEEPSEEK_STEPS)

    normal = _normal(vocabulary.nfc)

    def encode(text: str) -> bytes:
        text = normal(text)
        if not stages:
            return pack(encoding.encode_ordinary(text))
        return b"".join(pack(encoding.encode_ordinary(piece)) for piece in _split(stages, text))

    return encode
