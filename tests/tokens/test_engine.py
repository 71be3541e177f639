"""Which template and tokenizer a model gets, and what the user may say about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.records import Message, Request, Source
from radixadvisor.render.registry import render_text
from radixadvisor.tokens.engine import choose, encode_prompt_text, unpack

from .test_directory import BYTE_LEVEL, spec, write


def test_a_known_model_gets_its_own() -> None:
    choice = choose("Qwen/Qwen2.5-72B-Instruct")
    assert (choice.template, choice.name, choice.exact, choice.notes) == ("qwen2.5", "qwen2.5", True, ())


def test_an_unknown_model_gets_a_stand_in_and_says_so() -> None:
    choice = choose("acme-1")
    assert (choice.template, choice.name, choice.exact) == ("chatml", "o200k", False)
    assert "not known" in choice.notes[0]


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-4o", "gemini-2.5-pro", "deepseek-chat"])
def test_hosted_models_are_never_exact(model: str) -> None:
    choice = choose(model)
    assert not choice.exact and "not public" in choice.notes[0]


def test_a_vocabulary_named_alone_brings_its_template() -> None:
    choice = choose("acme-1", tokenizer="QWEN3")
    assert (choice.template, choice.name, choice.exact) == ("qwen3", "qwen3", True)
    assert choice.notes == ("Tokenizer QWEN3 as named by --tokenizer.",)


def test_the_models_template_stays_where_its_vocabulary_is_named() -> None:
    assert choose("llama-3.3-70b", tokenizer="llama3").template == "llama3.3"
    assert choose("acme-1", tokenizer="llama3").template == "llama3.1"


def test_a_model_may_be_named_as_a_tokenizer() -> None:
    choice = choose("acme-1", tokenizer="meta-llama/Llama-3.1-8B-Instruct")
    assert (choice.template, choice.name) == ("llama3.1", "llama3")


def test_a_built_in_template_may_be_named() -> None:
    choice = choose("qwen2.5-7b", chat_template="deepseek-v3")
    assert (choice.template, choice.name, choice.exact) == ("deepseek-v3", "qwen2.5", False)
    assert any("lacks tokens of the template" in note for note in choice.notes)


def test_a_template_file_is_run_with_the_models_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}")
    choice = choose("qwen2.5-7b", chat_template=str(file))
    request = Request("r", Source("made", 1), messages=(Message("user", "q"), Message("user", "z")))
    text = render_text(choice.renderer, request)
    assert text == "<|im_start|>q<|im_start|>z"
    start = choice.tokenizer.special["<|im_start|>"]
    assert unpack(encode_prompt_text(choice.tokenizer, text))[::2] == [start, start]
    assert choice.template == "mine.jinja" and len(choice.template_hash) == 16
    file.write_text("{{ messages[0].content }}")
    assert choose("qwen2.5-7b", chat_template=str(file)).template_hash != choice.template_hash


def test_a_directory_brings_tokenizer_and_template(tmp_path: Path) -> None:
    write(tmp_path, spec(pre_tokenizer=BYTE_LEVEL))
    config = {"chat_template": "{{ messages[0].content }}"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    choice = choose("acme-1", tokenizer=str(tmp_path))
    assert (choice.name, choice.template, choice.exact) == (tmp_path.name, tmp_path.name, True)


def test_a_directory_without_template_gets_the_models_or_a_stand_in(tmp_path: Path) -> None:
    write(tmp_path, spec(pre_tokenizer=BYTE_LEVEL))
    choice = choose("acme-1", tokenizer=str(tmp_path))
    assert (choice.template, choice.exact) == ("chatml", False)
    assert any("no chat template" in note for note in choice.notes)


def test_an_empty_directory_and_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no tokenizer\.json"):
        choose("acme-1", tokenizer=str(tmp_path))
    with pytest.raises(UnknownName, match=r"Unknown tokenizer 'acme-2'.*o200k"):
        choose("acme-1", tokenizer="acme-2")
    with pytest.raises(UnknownName, match=r"Unknown chat template 'nowhere\.jinja'.*qwen2\.5"):
        choose("acme-1", chat_template="nowhere.jinja")
