"""Requests that look nothing up: known by their parameters, computed whole, and still filling the cache."""

from __future__ import annotations

import pytest

from radixadvisor.records import Message, Part, Request, Source
from radixadvisor.simulate.bypass import bypass_of
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.run import simulate
from radixadvisor.simulate.steps import ledger_steps
from tests.simulate.logs import run_of

FEATURES = engine("vllm").bypass


def asked(content: tuple[Part, ...] | str = "hello", **parameters: str) -> Request:
    return Request("r", Source("f", 1), messages=(Message("user", content),), parameters=parameters)


@pytest.mark.parametrize(
    ("parameters", "feature"),
    [
        ({"prompt_logprobs": "1"}, "prompt_logprobs"),
        ({"prompt_logprobs": "0"}, "prompt_logprobs"),
        ({"prompt_logprobs": "null"}, None),
        ({"prompt_logprobs": "false"}, None),
        ({"echo": "true", "logprobs": "5"}, "prompt_logprobs"),
        ({"echo": "true"}, None),
        ({"echo": "false", "logprobs": "5"}, None),
        ({"logprobs": "5"}, None),
        ({"pooling_params": "{}"}, "pooling_params"),
        ({}, None),
    ],
)
def test_features_are_told_by_parameters(parameters: dict[str, str], feature: str | None) -> None:
    assert bypass_of(asked(**parameters), FEATURES) == feature
    assert bypass_of(asked(**parameters), engine("sglang").bypass) is None


def test_media_count_only_for_an_engine_that_names_them() -> None:
    seen = asked((Part("text", "look"), Part("image", "image:1")))
    assert bypass_of(seen, FEATURES) is None
    assert bypass_of(seen, ("image",)) == "image"


@pytest.mark.parametrize("concurrency", [1, None])
def test_a_request_with_a_feature_computes_its_prompt_and_leaves_it(concurrency: int | None) -> None:
    prompt = run_of(1, 160)
    names = ["prompt_logprobs", None, "prompt_logprobs", None]
    requests = Requests([prompt] * 4, arrivals=[0.0, 50.0, 100.0, 150.0], features=names)
    options = Options(concurrency=concurrency)
    for name, served in (("vllm", [0, 144, 0, 144]), ("trtllm", [0, 159, 159, 159])):
        result = simulate(requests, engine(name), options)
        assert result.matched_tokens.tolist() == served
    assert simulate(requests, engine("sglang"), options).matched_tokens.tolist() == [0, 159, 159, 159]
    steps = ledger_steps(requests, engine("vllm"), options)
    assert steps["rounding"] is not None
    assert steps["isolation"] is not None
    assert steps["rounding"].tolist() == [0, 160, 0, 160]
    assert steps["isolation"].tolist() == [0, 160, 160, 160]
