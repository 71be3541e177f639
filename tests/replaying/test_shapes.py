"""Shapes of the catalogue as the engine takes them."""

from __future__ import annotations

import pytest

from radixadvisor import catalog
from radixadvisor.replaying.shapes import find_shape, shapes


def test_weights_and_kv_are_those_of_the_catalogue() -> None:
    known = {name: shape for name, shape in shapes().items() if name != "tiny"}
    assert {"llama-3.1-8b", "qwen2.5-7b", "qwen3-8b"} <= known.keys()
    for name, shape in known.items():
        entry = catalog.model(name)
        assert shape.linear_params == entry.shape.linear_active
        assert shape.kv_bytes(2) == entry.kv_bytes_per_token
        assert shape.prefill_flops(1, 9) - shape.prefill_flops(1, 8) == entry.shape.pair_flops * shape.layers


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3", "gemma-3-27b", "gpt-oss-20b", "no-model"])
def test_what_the_engine_does_not_have_is_left_out(name: str) -> None:
    assert find_shape(name) is None


def test_names_are_those_that_logs_use() -> None:
    found = find_shape("Qwen/Qwen2.5-7B-Instruct")
    assert found is not None
    assert (found.name, found.qkv_bias, found.qk_norm) == ("qwen2.5-7b", True, False)
    assert find_shape("TINY") is shapes()["tiny"]
