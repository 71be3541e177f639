"""Model directories: what in a tokenizer.json decides how a prompt may be cut, and broken ones."""

from __future__ import annotations

import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.errors import UsageError
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.directory import DirectoryTokenizer, holds_tokenizer

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split_by(pattern: str) -> dict[str, Any]:
    stage = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [stage, BYTE_LEVEL]}


def metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}


def spec(*, added: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    """A tokenizer.json over single characters."""
    alphabet = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ", "▁"]
    rows = [
        {
            "id": len(alphabet) + number,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
        }
        | {"normalized": False, "special": True}
        | change
        for number, (text, change) in enumerate((row.pop("content"), row) for row in added or [])
    ]
    model = {"type": "BPE", "vocab": {text: number for number, text in enumerate(alphabet)}, "merges": []}
    empty = {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
    return {"version": "1.0", "added_tokens": rows, **empty, "model": model, **fields}


def write(folder: Path, value: dict[str, Any]) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(value), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("fields", "added", "whole"),
    [
        ({"pre_tokenizer": split_by(QWEN)}, {}, False),
        ({"pre_tokenizer": metaspace("first")}, {}, True),
        ({"pre_tokenizer": metaspace("always")}, {}, False),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [metaspace("first")]}}, {}, True),
        ({}, {"lstrip": True}, True),
        ({}, {"rstrip": True}, True),
        ({}, {"single_word": True}, True),
        ({}, {"normalized": True}, False),
        ({"normalizer": {"type": "Sequence", "normalizers": []}}, {"normalized": True}, False),
        ({"normalizer": {"type": "Lowercase"}}, {"normalized": True}, True),
        ({"normalizer": {"type": "Lowercase"}}, {}, False),
    ],
)
def test_when_a_prompt_must_be_encoded_whole(
    fields: dict[str, Any], added: dict[str, Any], whole: bool, tmp_path: Path
) -> None:
    tokenizer = DirectoryTokenizer(write(tmp_path, spec(added=[{"content": "<s>", **added}], **fields)))
    assert tokenizer.whole_prompt is whole


def test_whole_prompts_keep_what_segments_would_lose(tmp_path: Path) -> None:
    value = spec(added=[{"content": "<s>", "rstrip": True}], pre_tokenizer=BYTE_LEVEL)
    tokenizer = DirectoryTokenizer(write(tmp_path, value))
    number = tokenizer.special["<s>"]
    ids = unpack(encode_prompt_text(tokenizer, "<s>  a"))
    assert ids == [number, ord("a") - 33], "the token takes in the blanks behind it"


@pytest.mark.parametrize(
    ("fields", "safe"),
    [
        ({"pre_tokenizer": split_by(QWEN)}, True),
        ({"pre_tokenizer": split_by(QWEN), "normalizer": {"type": "NFC"}}, True),
        ({"pre_tokenizer": split_by(QWEN), "normalizer": {"type": "Lowercase"}}, False),
        ({"pre_tokenizer": split_by(r"\w+|\W+")}, False),
        ({"pre_tokenizer": BYTE_LEVEL}, False),
        ({"pre_tokenizer": metaspace("always")}, False),
        ({}, False),
    ],
)
def test_lines_are_cut_only_for_known_pretokenizers(
    fields: dict[str, Any], safe: bool, tmp_path: Path
) -> None:
    tokenizer = DirectoryTokenizer(write(tmp_path, spec(**fields)))
    assert (tokenizer.safe_split is not None) is safe
    if tokenizer.safe_split is not None:
        text = "a b\n\nc!\n9\n"
        ends = [0, *(match.end() for match in tokenizer.safe_split.finditer(text)), len(text)]
        parts = [text[start:end] for start, end in pairwise(ends)]
        assert b"".join(map(tokenizer.encode, parts)) == tokenizer.encode(text)
        assert len(parts) > 2


def test_a_zipped_tokenizer_is_the_same(tmp_path: Path) -> None:
    plain, zipped = tmp_path / "plain", tmp_path / "zipped"
    plain.mkdir()
    zipped.mkdir()
    write(plain, spec(pre_tokenizer=split_by(QWEN)))
    with zipfile.ZipFile(zipped / "tokenizer.json.zip", "w") as archive:
        archive.write(plain / "tokenizer.json", "tokenizer.json")
    assert holds_tokenizer(zipped) and not holds_tokenizer(tmp_path)
    one, two = DirectoryTokenizer(plain), DirectoryTokenizer(zipped)
    assert (one.name, two.name) == ("plain", "zipped")
    assert one.vocab_hash == two.vocab_hash
    assert one.encode("ab c\n") == two.encode("ab c\n")
    assert one.reference() is None


def test_truncation_and_padding_of_the_file_are_switched_off(tmp_path: Path) -> None:
    short = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    tokenizer = DirectoryTokenizer(write(tmp_path, spec(truncation=short, pre_tokenizer=BYTE_LEVEL)))
    assert len(unpack(tokenizer.encode("abcdef"))) == 6


def test_template_tokens_that_it_lacks_are_added_and_told(tmp_path: Path) -> None:
    write(tmp_path, spec(pre_tokenizer=BYTE_LEVEL, added=[{"content": "<s>"}]))
    tokenizer = DirectoryTokenizer(tmp_path, ("<s>", "<|im_start|>"))
    assert len(unpack(encode_prompt_text(tokenizer, "<|im_start|><s>"))) == 2
    assert "<|im_start|>" in tokenizer.notes[0] and "<s>" not in tokenizer.notes[0]
    assert tokenizer.encode("a\ud800") == tokenizer.encode("a\ufffd")


def test_a_directory_without_a_tokenizer_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"{tmp_path.name} has no tokenizer\.json"):
        DirectoryTokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        DirectoryTokenizer(tmp_path)
