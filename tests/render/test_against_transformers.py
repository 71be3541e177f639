"""Built-in templates and vocabularies against each model's own, as transformers runs it: equal token ids."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.render.base import RenderError
from radixadvisor.render.registry import render_text, renderer
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.vocabularies import built_in

from .conversations import Shape, as_request, conversation, for_template

CONVERSATIONS = 300

# Directory of the reference, shape of the conversations, whether engines parse arguments for this template
# (DeepSeek's joins them as strings) and whether null content stays null.
FAMILIES = {
    "qwen2.5": ("qwen-2.5", Shape(), True, False),
    "qwen3": ("qwen-3", Shape(), True, False),
    "deepseek-v3": ("deepseek-v3", Shape(), False, True),
    "deepseek-r1": ("deepseek-r1", Shape(), False, True),
    "deepseek-v3.1": ("deepseek-v3.1", Shape(), False, True),
}


@pytest.fixture(scope="session")
def reference(model_directory: Callable[[str], Path]) -> Callable[[str], Any]:
    @cache
    def load(name: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers import PreTrainedTokenizerFast

            directory = model_directory(name)
            config = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
            bos = config.get("bos_token")
            return PreTrainedTokenizerFast(
                tokenizer_file=str(directory / "tokenizer.json"),
                chat_template=config["chat_template"],
                bos_token=bos["content"] if isinstance(bos, dict) else bos,
            )

    return load


def ids_of(family: str, request: Any) -> list[int]:
    template, tokenizer = renderer(family), built_in(family)
    packed = b"".join(
        encode_prompt_text(tokenizer, "".join(piece.text for piece in template.pieces(request, group)))
        for group in template.groups(request)
    )
    return unpack(packed)


def reference_text(tokenizer: Any, messages: list[dict[str, Any]], tools: Any) -> str:
    """What the model's own template prints.

    apply_chat_template removes null contents, which DeepSeek's templates ask for; a conversation that has one
    goes to the same template in the same environment directly.
    """
    if all(message["content"] is not None for message in messages):
        text = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=False
        )
    else:
        from transformers.utils.chat_template_utils import _compile_jinja_template

        text = _compile_jinja_template(tokenizer.chat_template).render(
            messages=messages, tools=tools, add_generation_prompt=True, bos_token=tokenizer.bos_token
        )
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("family", FAMILIES)
def test_token_ids_equal_apply_chat_template(family: str, reference: Callable[[str], Any]) -> None:
    directory, shape, parse, keep_null = FAMILIES[family]
    tokenizer = reference(directory)
    for seed in range(CONVERSATIONS):
        body = conversation(seed, shape)
        messages = for_template(body, parse_arguments=parse, keep_null=keep_null)
        expected = reference_text(tokenizer, messages, body.get("tools"))
        request = as_request(body)
        assert render_text(renderer(family), request) == expected, seed
        assert ids_of(family, request) == tokenizer.encode(expected, add_special_tokens=False), seed
