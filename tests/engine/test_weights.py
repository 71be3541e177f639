"""Model directories: whole, sharded, broken, and of kinds that the engine would compute wrongly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from radixengine.model_config import ModelError, shape_of
from radixengine.shapes import TINY, Llama3Scaling, ModelShape
from radixengine.weights import from_tensors, load_model, random_model
from safetensors.torch import save_file

from tests.engine.models import ARCHITECTURES, pair

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "vocab_size": 100,
}


def same(one: Any, two: Any) -> bool:
    """Whether two decoders multiply alike."""
    torch.manual_seed(0)
    x = torch.randn(3, one.shape.hidden)
    layers = zip(one.layers, two.layers, strict=True)
    alike = [torch.equal(a.qkv(x), b.qkv(x)) and torch.equal(a.gate_up(x), b.gate_up(x)) for a, b in layers]
    return all(alike) and torch.equal(one.embed, two.embed) and torch.equal(one.head(x), two.head(x))


@pytest.mark.parametrize("shard_size", ["10GB", "20KB"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_directory_that_transformers_wrote_is_read_back(tmp_path: Path, name: str, shard_size: str) -> None:
    model, decoder = pair(name)
    path = tmp_path / "Model-3.1-8B"
    model.save_pretrained(path, max_shard_size=shard_size)
    assert (len(list(path.glob("*.safetensors"))) > 1) == (shard_size == "20KB")
    read = load_model(path)
    assert read.shape.name == "Model-3.1-8B"
    assert same(read, decoder)
    assert not read.folds


def test_what_a_directory_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"neither a model directory nor a \.gguf"):
        load_model(tmp_path / "absent")
    with pytest.raises(ModelError, match=r"has no config\.json"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match="is not JSON"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    with pytest.raises(ModelError, match=r"has no \.safetensors file"):
        load_model(tmp_path)
    save_file({"model.embed_tokens.weight": torch.zeros(100, 64)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"no weight model\.layers\.0\.self_attn\.q_proj\.weight"):
        load_model(tmp_path)
    index = {"weight_map": {"model.embed_tokens.weight": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match="lacks its shard model-00001-of-00002"):
        load_model(tmp_path)


def test_weights_of_another_size_or_too_many_are_refused() -> None:
    model, decoder = pair("llama")
    tensors = dict(model.state_dict())
    with pytest.raises(ModelError, match=r"does not know: model\.layers\.0\.self_attn\.o_proj\.bias"):
        from_tensors(decoder.shape, {**tensors, "model.layers.0.self_attn.o_proj.bias": torch.zeros(1)})
    tensors["model.norm.weight"] = torch.zeros(3)
    with pytest.raises(ModelError, match=r"model\.norm\.weight of llama is \(3,\), expected \(48,\)"):
        from_tensors(decoder.shape, tensors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "a 'gpt2' model; this engine runs llama, mistral, qwen2, qwen3"),
        ({"attention_bias": True}, "biases"),
        ({"hidden_act": "gelu"}, "'gelu'"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "scales RoPE by 'yarn'"),
        ({"model_type": "mistral", "sliding_window": 4096}, "sliding windows"),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True}, "sliding windows"),
    ],
)
def test_what_would_be_computed_wrongly_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shape_of({**CONFIG, **change}, "m")


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab_size": None}, "makes no shape"),
        ({"hidden_size": [64]}, "makes no shape"),
        ({"hidden_size": 1e400}, "makes no shape"),
        ({"num_attention_heads": 0}, "makes no shape"),
        ({"num_key_value_heads": 3}, "makes no shape: m: 4 heads are no multiple of 3"),
        ({"rms_norm_eps": None}, "makes no shape"),
        ({"rms_norm_eps": -1.0}, r"-1\.0 is no number above 0"),
        ({"rope_theta": "x"}, "makes no shape"),
        ({"rope_scaling": 3}, "makes no shape"),
        ({"rope_scaling": {**LLAMA3, "factor": float("nan")}}, "nan is no number above 0"),
        ({"rope_scaling": {**LLAMA3, "high_freq_factor": 1.0}}, r"low_freq_factor 1\.0 is not below 1\.0"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "lacks 'low_freq_factor'"),
    ],
)
def test_values_that_make_no_shape_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shape_of({**CONFIG, **change}, "m")


def test_files_that_are_broken_are_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ModelError, match=r"config\.json holds no JSON object"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors").write_bytes(b"garbage" * 10)
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ModelError, match="has no weight_map"):
        load_model(tmp_path)


def test_configs_of_both_generations_are_understood() -> None:
    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected = Llama3Scaling(8.0, 1.0, 4.0, 8192)
    old = {**CONFIG, "rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", **scaling}}
    new = {**CONFIG, "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **scaling}}
    for config in (old, new):
        shape = shape_of(config, "m")
        assert (shape.rope_theta, shape.rope_scaling) == (5e5, expected)
    assert shape_of({**CONFIG, "model_type": "qwen2", "sliding_window": 4096}, "m").qkv_bias
    assert shape_of({**CONFIG, "model_type": "mistral", "sliding_window": None}, "m").head_dim == 16
    with pytest.raises(ModelError, match="lacks 'vocab_size'"):
        shape_of({key: value for key, value in CONFIG.items() if key != "vocab_size"}, "m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers must be at least 1"),
        ({"kv_heads": 3}, "4 heads are no multiple of 3 KV heads"),
        ({"head_dim": 7}, "even head_dim"),
        ({"vocab": 1}, "a vocabulary of one token"),
    ],
)
def test_impossible_shapes_are_refused(change: dict[str, int], message: str) -> None:
    sizes = {
        "layers": 1,
        "hidden": 8,
        "heads": 4,
        "kv_heads": 2,
        "head_dim": 4,
        "intermediate": 8,
        "vocab": 9,
    }
    with pytest.raises(ValueError, match=message):
        ModelShape("m", **{**sizes, **change})


def test_flops_and_bytes_follow_the_cost_model() -> None:
    """Llama-3.1-8B: 6,979,321,856 weights in projections and 131,072 bytes of KV per token in bfloat16."""
    llama = ModelShape("llama", 32, 4096, 32, 8, 128, 14336, 128256)
    assert llama.linear_params == 6_979_321_856
    assert llama.kv_bytes(2) == 131_072
    n, c = 100, 900
    pairs = n * c + n * (n + 1) / 2
    expected = 2 * llama.linear_params * n + 2 * 128256 * 4096 + 4 * 32 * 128 * 32 * pairs
    assert llama.prefill_flops(n, c) == expected


def test_unknown_dtypes_are_named() -> None:
    with pytest.raises(ValueError, match=r"Unknown dtype 'int8'\. Known: bfloat16, float16, float32"):
        random_model(TINY, dtype="int8")


def test_the_scheduling_half_never_imports_torch() -> None:
    modules = (
        "scheduler, radix_cache, blocks, no_cache, options, results, recorded, shapes, slots, model_config"
    )
    code = f"from radixengine import {modules}; import sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
