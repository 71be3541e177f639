"""Shapes read from configurations: against the model classes of transformers, and what is refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.catalog import model
from radixadvisor.catalog.config_json import read_config
from radixadvisor.errors import UsageError

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}

COUNTED = [
    *[
        "cohere2",
        "deepseek_v3",
        "exaone4",
        "gemma2",
        "glm4_moe",
        "gpt_neox",
        "gpt_oss",
        "llama",
        "minimax_m2",
    ],
    *["mistral", "mixtral", "olmo3", "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"],
    *["smollm3", "starcoder2"],
]


def written(folder: Path, config: Mapping[str, Any]) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("kind", COUNTED)
def test_parameters_are_those_of_the_model_class(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = transformers.CONFIG_MAPPING[kind]()
        config.save_pretrained(tmp_path)
        with torch.device("meta"):
            built = transformers.AutoModelForCausalLM.from_config(config)
    counted = sum(weights.numel() for weights in built.parameters())
    assert read_config(tmp_path).shape.parameters == pytest.approx(counted, rel=0.0006)


def test_a_folder_is_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "mine-8B"
    folder.mkdir()
    found = model(str(written(folder, LLAMA)))
    assert (found.name, found.shape) == ("mine-8B", model("llama-3.1-8b").shape)
    assert found.weights == "bf16" and found.note is None and "config.json" in found.source
    assert model(str(folder / "config.json")).shape == found.shape


@pytest.mark.parametrize(
    ("rule", "weights", "experts"),
    [
        ({"quant_method": "fp8"}, "fp8", "fp8"),
        ({"quant_method": "mxfp4"}, "bf16", "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "int4", "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8", "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", "int4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4}}},
            },
            "int4",
            "int4",
        ),
    ],
)
def test_quantised_weights(rule: dict[str, Any], weights: str, experts: str, tmp_path: Path) -> None:
    found = read_config(written(tmp_path, LLAMA | {"quantization_config": rule}))
    assert (found.weights, found.expert_weights) == (weights, experts)


@pytest.mark.parametrize(
    ("extra", "window", "local"),
    [
        ({"sliding_window": None}, 0, 0),
        ({"sliding_window": 4096}, 4096, 32),
        ({"sliding_window": 4096, "use_sliding_window": False}, 0, 0),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 28}, 4096, 4),
        ({"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"] * 16}, 512, 16),
        ({"sliding_window": 1024, "sliding_window_pattern": 6}, 1024, 27),
        ({"sliding_window": 1024, "model_type": "gemma3_text"}, 1024, 27),
    ],
)
def test_windows(extra: dict[str, Any], window: int, local: int, tmp_path: Path) -> None:
    shape = read_config(written(tmp_path, LLAMA | extra)).shape
    assert (shape.window, shape.local_layers) == (window, local)


def test_the_language_model_inside_a_larger_one(tmp_path: Path) -> None:
    found = read_config(
        written(tmp_path, {"model_type": "llava", "text_config": LLAMA, "vision_config": {"hidden_size": 1}})
    )
    assert found.shape == model("llama-3.1-8b").shape
    assert found.note is not None and "images" in found.note


def test_an_unknown_architecture_that_looks_like_llama_is_taken_with_a_word(tmp_path: Path) -> None:
    found = read_config(written(tmp_path, LLAMA | {"model_type": "acme"}))
    assert found.shape == model("llama-3.1-8b").shape
    assert found.note == "acme is taken to be built like Llama"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LLAMA | {"model_type": "jamba", "mamba_d_state": 16}, "jamba has state-space layers"),
        (LLAMA | {"layer_types": ["linear_attention", "full_attention"]}, "linear_attention"),
        (LLAMA | {"model_type": "deepseek_v32", "index_topk": 2048}, "sparse attention"),
        (LLAMA | {"model_type": "t5", "is_encoder_decoder": True}, "an encoder"),
        (LLAMA | {"model_type": "bert", "architectures": ["BertModel"]}, "no language-model head"),
        ({"model_type": "llama", "hidden_size": 64}, "num_hidden_layers"),
        (LLAMA | {"intermediate_size": None}, "intermediate_size"),
        (LLAMA | {"num_attention_heads": 31}, "31 heads are no multiple of 8"),
        (LLAMA | {"num_local_experts": 8}, "0 of 8 experts"),
    ],
)
def test_what_is_not_modelled_is_said(config: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read_config(written(tmp_path, config))


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no config\.json"):
        model(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        model(str(tmp_path))
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(UsageError, match="JSON object"):
        model(str(tmp_path))
