"""Mistral's formats v3 and v7 on Tekken against mistral-common, the models' own reference."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import pytest

from radixadvisor.render.registry import renderer
from radixadvisor.tokens.vocabularies import built_in

from .conversations import SNIPPETS, Shape, as_request, conversation
from .test_against_transformers import CONVERSATIONS, ids_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mistral_common = pytest.importorskip("mistral_common")

# mistral-common reads no control tokens from text, so none is put there; empty turns are refused by it.
V3 = Shape(
    snippets=tuple(text for text in SNIPPETS if not text.startswith(("<", "[")) and text.strip()),
    content_with_calls=False,
    odd_order=False,
    reasoning=False,
    empty=False,
)
V7 = replace(V3, content_with_calls=True)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mistral_common.protocol.instruct.normalize import InstructRequestNormalizerV7
        from mistral_common.protocol.instruct.validator import MistralRequestValidatorV5, ValidationMode
        from mistral_common.tokens.tokenizers.instruct import InstructTokenizerV7
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

        v3 = MistralTokenizer.v3(is_tekken=True)
        # The package brings no Tekken file of version 7: its encoder of version 7 runs on the one it brings.
        v7 = MistralTokenizer(
            InstructTokenizerV7(v3.instruct_tokenizer.tokenizer),
            validator=MistralRequestValidatorV5(mode=ValidationMode.test),
            request_normalizer=InstructRequestNormalizerV7.normalizer(),
        )
        return {"mistral-v3": v3, "mistral-v7": v7}


@pytest.mark.parametrize(("family", "shape"), [("mistral-v3", V3), ("mistral-v7", V7)])
def test_token_ids_equal_mistral_common(family: str, shape: Shape, tokenizers: dict[str, Any]) -> None:
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    assert renderer(family).exact
    for seed in range(CONVERSATIONS):
        body = conversation(seed, shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = ChatCompletionRequest.from_openai(**body)
            expected = tokenizers[family].encode_chat_completion(asked).tokens
        assert ids_of(family, "mistral-tekken", as_request(body)) == expected, seed


def test_added_tokens_have_the_ids_of_tekken(tokenizers: dict[str, Any]) -> None:
    tekken = tokenizers["mistral-v3"].instruct_tokenizer.tokenizer
    pieces = {tekken.id_to_piece(number): number for number in range(tekken.num_special_tokens)}
    assert built_in("mistral-tekken").special == pieces
